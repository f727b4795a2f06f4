//! The engine in a simulation: one thread is its loop, its workers and its monitor, and time is a number.
//!
//! A failure names its seed; `TAYET_SIM_SEED` runs that one alone, `TAYET_SIM_SEEDS` says how many to run.

mod accepting;
mod application;
mod bounds;
mod conversation;
mod deadlines;
mod downloads;
mod draining;
mod endings;
mod hints;
mod sockets;
mod stage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tayet_testkit::{ClientId, Faults, Random, for_each_seed};

use self::conversation::Conversation;
use self::stage::{Habits, Stage};
use crate::{EngineConfig, ExecutionModel, Limits};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn any_model(random: &mut Random) -> ExecutionModel {
    *random.pick(&[
        ExecutionModel::default(),
        ExecutionModel::ThreadPool { threads: 4 },
        ExecutionModel::Inline,
    ])
}

/// Limits under which nothing of a conversation may fail, though much must wait.
fn narrow_limits(random: &mut Random) -> Limits {
    Limits {
        stream_buffer_bytes: *random.pick(&[1, 1_000, 256 * 1_024]),
        stream_threshold_bytes: *random.pick(&[0, 100, 64 * 1_024]),
        pipeline_buffer_bytes: *random.pick(&[1, 1_000, 64 * 1_024]),
        coalesce_bytes: *random.pick(&[1, 300, 64 * 1_024]),
        max_connections: 1_000,
        head_timeout_ms: 60_000,
        ..Limits::default()
    }
}

fn any_habits(random: &mut Random) -> Habits {
    Habits {
        takeovers: *random.pick(&[0, 200, 1_000]),
        late_reports: *random.pick(&[0, 200, 1_000]),
        looking_loops: *random.pick(&[0, 200, 1_000]),
        handler_us: 0..=*random.pick(&[0, 300, 5_000]),
        workers: random.size(1..=8),
        read_bytes: *random.pick(&[50_000, 4_000]),
    }
}

/// A server with any model, limits, habits and faults, and some clients with their conversations.
fn any_stage(seed: u64) -> (Stage, Vec<(ClientId, Conversation)>) {
    let mut random = Random::new(seed);
    let proxy_protocol = random.chance(100);
    let config = EngineConfig {
        execution: any_model(&mut random),
        limits: narrow_limits(&mut random),
        proxy_protocol,
        ..EngineConfig::default()
    };
    let stage = Stage::with_config(seed, config, any_habits(&mut random));
    stage.net.set_faults(Faults::bearable(&mut random));
    let greeting = if proxy_protocol { "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n" } else { "" };
    let clients = (0..random.size(1..=6)).map(|_| {
        let conversation = Conversation::any(&mut random);
        (stage.net.add(conversation.client(&mut random, greeting)), conversation)
    });
    let clients = clients.collect();
    (stage, clients)
}

#[test]
fn every_request_is_answered_once_in_order_with_the_right_bytes() {
    let lent_bytes = AtomicUsize::new(0);
    for_each_seed(2_000, |seed| {
        let (stage, clients) = any_stage(seed);
        stage.drain_at(ms(200_000));
        let stage = stage.run();
        for (client, conversation) in &clients {
            conversation.check(&stage.net.transcript(*client));
            assert!(stage.net.closed_at(*client).is_some());
        }
        assert_eq!(stage.busy_workers(), 0, "a handler waits for what will not come");
        let delivered =
            clients.iter().map(|(client, _)| stage.net.delivered_bytes(*client) as u64).sum::<u64>();
        assert_eq!(stage.shared.shards[0].received_bytes.get(), delivered);
        let lent = clients.iter().map(|(client, _)| stage.net.lent_bytes(*client)).sum();
        lent_bytes.fetch_add(lent, Ordering::Relaxed);
    });
    assert!(lent_bytes.into_inner() > 0, "no handler has received its request's body itself");
}
