//! What a connection may cost at most, whatever its client does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tayet_testkit::{Client, ClientId, Faults, RECEIVE_BYTES, Random, Reading, SimulatedNet, for_each_seed};

use super::application::Kind;
use super::stage::{Habits, Stage};
use super::{any_model, ms};
use crate::{ExecutionModel, Limits};

const HELLO: &str = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";

const SEEDS: u64 = 50;

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

/// Handlers that take this long, away from their loop.
fn slow(time: Duration) -> Habits {
    let us = time.as_micros() as u64;
    Habits { takeovers: 1_000, late_reports: 0, handler_us: us..=us, ..Habits::default() }
}

/// How many of a client's bytes the server has been given by this time.
fn delivered_at(stage: &Stage, client: ClientId, at: Duration) -> Arc<AtomicUsize> {
    seen_at(stage, at, move |net| net.delivered_bytes(client))
}

/// How many waits have ended by this time because their time was up, and for nothing else.
fn timeouts_at(stage: &Stage, at: Duration) -> Arc<AtomicUsize> {
    seen_at(stage, at, |net| net.timeouts() as usize)
}

fn seen_at(
    stage: &Stage,
    at: Duration,
    look: impl Fn(&SimulatedNet) -> usize + Send + 'static,
) -> Arc<AtomicUsize> {
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    stage.net.at(at, {
        let (seen, net) = (Arc::clone(&seen), stage.net.clone());
        move || seen.store(look(&net), Ordering::Relaxed)
    });
    seen
}

#[test]
fn what_waits_behind_a_busy_handler_is_bounded() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let pipeline_buffer_bytes = random.size(1..=200_000);
        let execution = *random.pick(&[ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }]);
        let limits = Limits { pipeline_buffer_bytes, ..limits() };
        let stage = Stage::new(seed, execution, limits, slow(ms(10_000)));
        let bytes = HELLO.repeat(1_000_000 / HELLO.len());
        let script = Client::connecting_at(ms(0)).send_cut(bytes, &mut random, 20, ms(100));
        let client = stage.net.add(script.buffers(300_000, 64 * 1_024));
        let seen = delivered_at(&stage, client, ms(9_000));
        stage.drain_at(ms(9_500));
        stage.run();
        let most = HELLO.len() + pipeline_buffer_bytes + RECEIVE_BYTES;
        let seen = seen.load(Ordering::Relaxed);
        assert!(seen <= most, "{seen} bytes were taken, {most} may be");
    });
}

#[test]
fn what_waits_for_a_handler_that_does_not_read_is_bounded() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stream_buffer_bytes = random.size(1..=500_000);
        let limits = Limits { stream_buffer_bytes, shutdown_deadline_ms: 0, ..limits() };
        let stage = Stage::new(seed, any_model(&mut random), limits, slow(ms(10_000)));
        let kind = *random.pick(&[Kind::Streamed, Kind::Ignoring, Kind::Adaptive]);
        let length = 2_000_000;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n",
            kind.target(1, length)
        );
        let script = Client::connecting_at(ms(0)).send(head.clone());
        let script = script.send_cut(vec![b'x'; length], &mut random, 20, ms(100));
        let client = stage.net.add(script.buffers(300_000, 64 * 1_024));
        let seen = delivered_at(&stage, client, ms(9_000));
        stage.drain_at(ms(9_500));
        stage.run();
        let most = head.len() + stream_buffer_bytes + RECEIVE_BYTES;
        let seen = seen.load(Ordering::Relaxed);
        assert!(seen <= most, "{kind:?}: {seen} bytes were taken, {most} may be");
    });
}

#[test]
fn requests_of_a_client_that_reads_nothing_are_left_to_the_kernel() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), Habits::default());
        let kind = *random.pick(&[Kind::Plain, Kind::Blocking, Kind::Sized, Kind::Deferred]);
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", kind.target(1, 5_000));
        let script = Client::connecting_at(ms(0)).send(request.repeat(1_000_000 / request.len()));
        let client = stage.net.add(script.buffers(300_000, 10_000).reading(Reading::never()));
        let seen = delivered_at(&stage, client, ms(20_000));
        stage.drain_at(ms(100_000));
        stage.run();
        // What is answered and waits to be sent, and what waits behind it.
        let limits = limits();
        let answered = (10_000 + limits.coalesce_bytes) / 100 * request.len();
        let most = answered + limits.pipeline_buffer_bytes + RECEIVE_BYTES;
        let seen = seen.load(Ordering::Relaxed);
        assert!(seen <= most, "{kind:?}: {seen} bytes were taken, {most} may be");
    });
}

#[test]
fn past_a_full_queue_requests_are_told_to_come_back_and_the_connection_lives_on() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let limits = Limits { queue_capacity: random.size(1..=3), ..limits() };
        let habits = Habits { workers: random.size(1..=2), ..slow(ms(10)) };
        let stage = Stage::new(seed, ExecutionModel::ThreadPool { threads: 2 }, limits, habits);
        let clients = (0..12).map(|_| {
            let script = Client::connecting_at(ms(0)).send(HELLO).await_answers(1).wait(ms(1_000));
            stage.net.add(script.send(HELLO).await_answers(2).close())
        });
        let clients = clients.collect::<Vec<_>>();
        stage.drain_at(ms(30_000));
        let stage = stage.run();
        let mut overflowed = 0;
        for client in clients {
            let answers = stage.net.transcript(client).answers(|_| false).unwrap();
            assert_eq!(answers.len(), 2);
            for answer in answers {
                let is_refused = answer.status == 503 && answer.field("retry-after") == Some("1");
                assert!(answer.status == 200 || is_refused, "{answer:?}");
                overflowed += u64::from(is_refused);
            }
        }
        assert!(overflowed > 0);
        assert_eq!(stage.shared.shards[0].requests_overflowed.get(), overflowed);
    });
}

#[test]
fn a_full_queue_takes_no_answer_away_that_has_begun() {
    for_each_seed(SEEDS, |seed| {
        let limits = Limits { queue_capacity: 1, ..limits() };
        let habits = Habits { workers: 1, ..slow(ms(10)) };
        let stage = Stage::new(seed, ExecutionModel::Inline, limits, habits);
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", Kind::Written.target(7, 30_000));
        let clients = (0..8)
            .map(|_| stage.net.add(Client::connecting_at(ms(0)).send(request.repeat(2))))
            .collect::<Vec<_>>();
        stage.drain_at(ms(30_000));
        let stage = stage.run();
        let (_, body) = Kind::Written.answer(7, 30_000, b"");
        for client in clients {
            let answers = stage.net.transcript(client).answers(|_| false).unwrap();
            assert_eq!(answers.len(), 2);
            assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == body));
        }
    });
}

#[test]
fn idle_connections_wake_nobody() {
    let stage = Stage::new(1, ExecutionModel::default(), limits(), Habits::default());
    for n in 0..100 {
        stage.net.add(Client::connecting_at(ms(n)));
    }
    let timeouts = timeouts_at(&stage, ms(49_000));
    stage.drain_at(ms(50_000));
    stage.run();
    assert_eq!(timeouts.load(Ordering::Relaxed), 0);
}

#[test]
fn a_busy_connection_costs_few_wakes() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), Habits::default());
        let mut script = Client::connecting_at(ms(0));
        for answers in 1..=100 {
            script = script.send(HELLO).await_answers(answers).wait(ms(100));
        }
        stage.net.add(script.close());
        let timeouts = timeouts_at(&stage, ms(49_000));
        stage.drain_at(ms(50_000));
        stage.run();
        assert_eq!(timeouts.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_handler_that_blocks_stalls_nobody_else() {
    let stage = Stage::new(1, ExecutionModel::default(), limits(), slow(ms(10_000)));
    let blocked = stage.net.add(Client::connecting_at(ms(0)).send(HELLO));
    let refused = stage.net.add(Client::connecting_at(ms(5)).send("nonsense\r\n\r\n"));
    let second = stage.net.add(Client::connecting_at(ms(10)).send(HELLO));
    stage.drain_at(ms(30_000));
    let stage = stage.run();
    let answered_at = |client| stage.net.transcript(client).arrived_at(0);
    assert_eq!(answered_at(refused), Some(ms(5)));
    assert_eq!((answered_at(blocked), answered_at(second)), (Some(ms(10_000)), Some(ms(10_010))));
    assert_eq!(
        stage.shared.takeovers.load(Ordering::Relaxed),
        1,
        "the route is dispatched after its first overrun"
    );
}

#[test]
fn a_route_that_learns_by_path_is_dispatched_where_it_has_overrun_only() {
    let stage = Stage::new(1, ExecutionModel::default(), limits(), slow(ms(100)));
    for (n, tag) in [1, 1, 2, 1, 2].into_iter().enumerate() {
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", Kind::ByTag.target(tag, n));
        stage.net.add(Client::connecting_at(ms(1_000 * n as u64)).send(request));
    }
    stage.drain_at(ms(30_000));
    let stage = stage.run();
    assert_eq!(stage.shared.takeovers.load(Ordering::Relaxed), 2, "one for each tag");
}

#[test]
fn answers_go_together_and_wait_for_few_others() {
    const LARGE: &str = "GET /Sized/1/16384 HTTP/1.1\r\nHost: x\r\n\r\n";
    // What is asked for, the time that each answer takes to be made, from which on they are held, and how many go together then:
    // as many as a millisecond, 256 KiB and 64 answers allow.
    for (ask, call_us, from_us, together) in [
        (HELLO, 10, 20, 1),
        (HELLO, 10, 1, 64),
        (HELLO, 1, 1, 64),
        (HELLO, 20, 20, 51),
        (HELLO, 100, 20, 11),
        (HELLO, 300, 20, 5),
        (HELLO, 600, 20, 1),
        (LARGE, 20, 20, 16),
    ] {
        for_each_seed(SEEDS, |seed| {
            let batches = answered_together(seed, ask, call_us, from_us, Faults::default());
            assert_all_are(&batches, together);
        });
    }
}

#[test]
fn answers_that_are_made_fast_wait_for_requests_at_hand() {
    // With its head less than 4 KiB, and more.
    const SHORT: &str = "GET /Sized/1/3840 HTTP/1.1\r\nHost: x\r\n\r\n";
    const LARGE: &str = "GET /Sized/1/4096 HTTP/1.1\r\nHost: x\r\n\r\n";
    // What is asked for, the time that each answer takes to be made, and how many go together where all that has come is received
    // first: as many as 100 us and 64 answers allow, unless they are large.
    let cases = [(HELLO, 1, 64), (HELLO, 5, 21), (HELLO, 10, 11), (SHORT, 1, 64), (LARGE, 1, 1)];
    for (ask, call_us, together) in cases {
        for_each_seed(SEEDS, |seed| {
            let all_ahead = Faults { receive_ahead: 1_000, ..Faults::default() };
            let batches = answered_together(seed, ask, call_us, 20, all_ahead);
            assert_all_are(&batches, together);
        });
    }
}

#[test]
fn what_sockets_say_goes_together_as_answers_do() {
    let all_ahead = Faults { receive_ahead: 1_000, ..Faults::default() };
    for (call_us, faults, together) in [
        (10, Faults::default(), 1),
        (20, Faults::default(), 51),
        (100, Faults::default(), 11),
        (600, Faults::default(), 1),
        (1, all_ahead.clone(), 64),
        (10, all_ahead, 11),
    ] {
        for_each_seed(SEEDS, |seed| {
            assert_all_are(&echoed_together(seed, call_us, faults.clone()), together);
        });
    }
}

#[test]
fn what_was_made_fast_waits_for_no_call_that_may_be_slow() {
    // Too large to be held, and of a route of which nothing is known yet.
    const UNKNOWN: &str = "GET /Sized/1/4096 HTTP/1.1\r\nHost: x\r\n\r\n";
    const CALL_US: u64 = 15;
    const ASKED_AT: Duration = ms(10);
    for_each_seed(SEEDS, |seed| {
        let habits = Habits { takeovers: 0, handler_us: CALL_US..=CALL_US, ..Habits::default() };
        let stage = Stage::new(seed, ExecutionModel::Inline, limits(), habits);
        stage.net.set_faults(Faults { receive_ahead: 1_000, ..Faults::default() });
        let ask = |at, ask: &str| {
            stage.net.add(Client::connecting_at(ms(0)).wait(at).send(ask).await_answers(1).close())
        };
        // While the first is answered the other two come, to be received together.
        ask(ASKED_AT, HELLO);
        let both = [HELLO, UNKNOWN].map(|what| ask(ASKED_AT + Duration::from_micros(CALL_US / 3), what));
        stage.drain_at(ms(1_000));
        let stage = stage.run();
        let mut arrivals = both.map(|client| stage.net.transcript(client).arrived_at(0).unwrap());
        arrivals.sort();
        let calls = [2, 3].map(|calls| ASKED_AT + Duration::from_micros(calls * CALL_US));
        assert_eq!(arrivals, calls, "each as soon as it was made, whichever was first");
    });
}

#[test]
fn what_a_worker_makes_while_its_loop_looks_is_sent_by_the_loop_if_it_is_short() {
    const LARGE: &str = "GET /Sized/1/4096 HTTP/1.1\r\nHost: x\r\n\r\n";
    const CALL: Duration = Duration::from_micros(10);
    const ASKED_AT: Duration = ms(10);
    // How many loops look, what is asked for, and how many times a call's time it takes: once to make the answer and, where the loop
    // sends it, once again until the worker tells it.
    for (looking_loops, ask, times) in [(0, HELLO, 1), (1_000, HELLO, 2), (1_000, LARGE, 1)] {
        for_each_seed(SEEDS, |seed| {
            let call_us = CALL.as_micros() as u64;
            let habits = Habits {
                looking_loops,
                late_reports: 1_000,
                handler_us: call_us..=call_us,
                ..Habits::default()
            };
            let stage = Stage::new(seed, ExecutionModel::ThreadPool { threads: 1 }, limits(), habits);
            let script = Client::connecting_at(ms(0)).wait(ASKED_AT).send(ask).await_answers(1).close();
            let client = stage.net.add(script);
            stage.drain_at(ms(1_000));
            let stage = stage.run();
            assert_eq!(stage.net.transcript(client).arrived_at(0), Some(ASKED_AT + times * CALL));
        });
    }
}

/// All but the last, which may be fewer.
fn assert_all_are(batches: &[usize], together: usize) {
    let (last, whole) = batches.split_last().unwrap();
    assert!(whole.iter().all(|count| *count == together) && *last <= together, "{batches:?}");
}

/// How many answers arrive at the same time, time by time, where many clients ask at once.
fn answered_together(seed: u64, ask: &str, call_us: u64, from_us: u64, faults: Faults) -> Vec<usize> {
    const CLIENTS: u64 = 150;
    const ASKED_AT: Duration = ms(10);
    let habits = Habits { takeovers: 0, handler_us: call_us..=call_us, ..Habits::default() };
    let limits = Limits { hold_answers_from_us: from_us, ..limits() };
    let stage = Stage::new(seed, ExecutionModel::Inline, limits, habits);
    stage.net.set_faults(faults);
    let script = || Client::connecting_at(ms(0)).wait(ASKED_AT).send(ask).await_answers(1).close();
    let clients: Vec<_> = (0..CLIENTS).map(|_| stage.net.add(script())).collect();
    stage.drain_at(ms(1_000));
    let stage = stage.run();
    arrived_together(&stage, &clients, ASKED_AT + Duration::from_micros(call_us * CLIENTS), 0)
}

/// How many messages come back at the same time, time by time, where many clients speak at once.
fn echoed_together(seed: u64, call_us: u64, faults: Faults) -> Vec<usize> {
    const CLIENTS: u64 = 150;
    const SAID_AT: Duration = ms(500);
    const OPEN: &str = "GET /Socket/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";
    /// "x", masked with zeros.
    const FRAME: [u8; 7] = [0x81, 0x81, 0, 0, 0, 0, b'x'];
    let habits = Habits { takeovers: 0, handler_us: call_us..=call_us, ..Habits::default() };
    let stage = Stage::new(seed, ExecutionModel::Inline, limits(), habits);
    stage.net.set_faults(faults);
    let script = || Client::connecting_at(ms(0)).send(OPEN).wait(SAID_AT).send(FRAME).wait(SAID_AT).reset();
    let clients: Vec<_> = (0..CLIENTS).map(|_| stage.net.add(script())).collect();
    stage.drain_at(ms(2_000));
    let stage = stage.run();
    let opened = stage.net.transcript(clients[0]).bytes;
    let head_bytes = opened.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    arrived_together(&stage, &clients, SAID_AT + Duration::from_micros(call_us * CLIENTS), head_bytes)
}

/// At how many clients at the same time this byte arrived, time by time; at the last of them then.
fn arrived_together(stage: &Stage, clients: &[ClientId], last_at: Duration, byte: usize) -> Vec<usize> {
    let arrived_at = |client: &ClientId| stage.net.transcript(*client).arrived_at(byte).unwrap();
    let mut arrivals = clients.iter().map(arrived_at).collect::<Vec<_>>();
    arrivals.sort();
    assert_eq!(arrivals.last(), Some(&last_at));
    // The first comes alone, and the last few find none that follow.
    arrivals[1..].chunk_by(|one, next| one == next).map(<[Duration]>::len).collect()
}
