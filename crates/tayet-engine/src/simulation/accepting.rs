//! Accepting: its failures and its limit.

use tayet_net::TICK_MS;
use tayet_testkit::{Client, Faults, for_each_seed};

use super::ms;
use super::stage::{Habits, Stage};
use crate::{ExecutionModel, Limits};

const HELLO: &str = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";

/// What the engine waits before it accepts again.
const PAUSE_MS: u64 = 100;

fn stage(seed: u64, max_connections: usize) -> Stage {
    let limits = Limits { max_connections, ..Limits::default() };
    let habits = Habits { handler_us: 0..=0, ..Habits::default() };
    Stage::new(seed, ExecutionModel::Inline, limits, habits)
}

#[test]
fn without_descriptors_it_pauses_and_goes_on_when_there_are_some() {
    let stage = stage(1, 1_000);
    stage.net.exhaust_descriptors(ms(10), ms(1_000));
    let clients =
        (0..20).map(|n| stage.net.add(Client::connecting_at(ms(n * 50)).send(HELLO))).collect::<Vec<_>>();
    stage.drain_at(ms(10_000));
    let stage = stage.run();
    let answered_at = |client| stage.net.transcript(client).arrived_at(0).expect("an answer");
    assert_eq!(answered_at(clients[0]), ms(0));
    for client in &clients[1..] {
        assert!((1_000..=1_000 + PAUSE_MS).contains(&(answered_at(*client).as_millis() as u64)));
    }
    let failures = stage.shared.shards[0].accept_errors.get();
    assert!((2..=1_000 / PAUSE_MS + 1).contains(&failures), "{failures} failures in a second");
}

#[test]
fn past_the_limit_connections_wait_for_others_to_close() {
    let stage = stage(1, 3);
    let staying = (0..3).map(|_| stage.net.add(Client::connecting_at(ms(0)).wait(ms(2_000)).close()));
    let staying = staying.collect::<Vec<_>>();
    let waiting = stage.net.add(Client::connecting_at(ms(10)).send(HELLO));
    stage.drain_at(ms(10_000));
    let stage = stage.run();
    assert!(staying.iter().all(|client| stage.net.closed_at(*client) == Some(ms(2_000))));
    let answered_at = stage.net.transcript(waiting).arrived_at(0).expect("an answer");
    assert!(answered_at >= ms(2_000) && answered_at <= ms(2_000 + PAUSE_MS), "answered at {answered_at:?}");
    // It looks again every so often, and not more.
    assert!(stage.net.timeouts() <= 10_000 / TICK_MS, "{} wakes", stage.net.timeouts());
}

#[test]
fn connections_that_cannot_be_accepted_or_attached_hurt_no_other() {
    for_each_seed(100, |seed| {
        let stage = stage(seed, 1_000);
        stage.net.set_faults(Faults { accept: 200, attach: 200, exhausted: 200, ..Faults::default() });
        let clients =
            (0..30).map(|n| stage.net.add(Client::connecting_at(ms(n)).send(HELLO))).collect::<Vec<_>>();
        stage.drain_at(ms(30_000));
        let stage = stage.run();
        let transcripts = clients.iter().map(|client| stage.net.transcript(*client));
        let (served, lost): (Vec<_>, Vec<_>) =
            transcripts.partition(|transcript| !transcript.bytes.is_empty());
        assert!(served.iter().all(|transcript| transcript.answers(|_| false).unwrap()[0].status == 200));
        assert!(!served.is_empty() && !lost.is_empty());
        assert!(stage.shared.shards[0].accept_errors.get() >= lost.len() as u64);
    });
}
