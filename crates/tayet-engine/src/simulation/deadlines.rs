//! Every deadline, in simulated time: never early, and late by no more than the timers' grain.

use std::time::Duration;

use tayet_net::TICK_MS;
use tayet_testkit::{Client, ClientId, End, Random, Reading, for_each_seed};

use super::application::{HASTY_TIMEOUT_MS, Kind};
use super::stage::{Habits, Stage};
use super::{any_model, ms};
use crate::{ExecutionModel, Limits};

const SEEDS: u64 = 100;

const HELLO: &str = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

/// Threads that lose no time.
fn prompt() -> Habits {
    Habits { takeovers: 0, late_reports: 0, handler_us: 0..=0, ..Habits::default() }
}

/// Threads whose handlers take this long, each away from its loop.
fn slow(time: Duration) -> Habits {
    let us = time.as_micros() as u64;
    Habits { takeovers: 1_000, handler_us: us..=us, ..prompt() }
}

/// Two models in which no handler holds its loop.
fn lending_model(random: &mut Random) -> ExecutionModel {
    *random.pick(&[ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }])
}

#[track_caller]
fn assert_due(at: Option<Duration>, due: Duration) {
    assert_within(at, due, ms(TICK_MS + 1));
}

#[track_caller]
fn assert_within(at: Option<Duration>, due: Duration, grace: Duration) {
    let at = at.unwrap_or_else(|| panic!("due at {due:?}, it never came"));
    // Deadlines count whole milliseconds.
    assert!(at + ms(1) >= due, "due at {due:?}, it came early, at {at:?}");
    assert!(at <= due + grace, "due at {due:?}, it came late, at {at:?}");
}

/// When the answer came that is the last, and its status.
fn last_answer(stage: &Stage, client: ClientId) -> (Option<Duration>, u16) {
    let transcript = stage.net.transcript(client);
    let answers = transcript.answers(|_| false).unwrap();
    let status = answers.last().map_or(0, |answer| answer.status);
    (transcript.arrived_at(transcript.bytes.len() - 1), status)
}

#[test]
fn a_dripped_head_is_refused_when_its_time_is_up() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), prompt());
        let idle = ms(random.within(0..=59_000));
        let connects = ms(random.within(0..=1_000));
        let mut script = Client::connecting_at(connects).wait(idle);
        let mut begins = connects + idle;
        if random.chance(500) {
            let pause = ms(random.within(0..=59_000));
            begins += pause;
            script = script.send(HELLO).wait(pause);
        }
        for byte in HELLO.bytes().take(30) {
            script = script.send([byte]).wait(ms(random.within(300..=900)));
        }
        let client = stage.net.add(script);
        stage.drain_at(ms(200_000));
        let stage = stage.run();
        let (at, status) = last_answer(&stage, client);
        assert_eq!(status, 408);
        assert_due(at, begins + ms(stage.shared.limits.head_timeout_ms));
    });
}

#[test]
fn a_head_behind_an_answer_that_waits_has_its_time_too() {
    let stage = Stage::new(1, ExecutionModel::Inline, limits(), prompt());
    let request = Kind::Sized.target(1, 5_000);
    let client = stage.net.add(
        Client::connecting_at(ms(0))
            .send(format!("GET {request} HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"))
            .buffers(9_000, 1_000)
            .reading(Reading::eager().from(ms(4_000))),
    );
    stage.drain_at(ms(100_000));
    let stage = stage.run();
    let (at, status) = last_answer(&stage, client);
    assert_eq!(status, 408);
    assert_within(at, ms(stage.shared.limits.head_timeout_ms), ms(4_000 + TICK_MS));
}

#[test]
fn an_idle_connection_is_closed_without_a_word_when_its_time_is_up() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), prompt());
        let mut last = ms(random.within(0..=1_000));
        let mut script = Client::connecting_at(last);
        let requests = random.size(0..=4);
        for _ in 0..requests {
            let pause = ms(random.within(0..=59_000));
            last += pause;
            script = script.wait(pause).send(HELLO);
        }
        let client = stage.net.add(script);
        stage.drain_at(ms(1_000_000));
        let stage = stage.run();
        assert_due(stage.net.closed_at(client), last + ms(stage.shared.limits.keep_alive_timeout_ms));
        assert_eq!(stage.net.transcript(client).answers(|_| false).unwrap().len(), requests);
    });
}

#[test]
fn a_body_that_comes_too_slowly_is_refused_and_a_slow_one_is_not() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), prompt());
        let kind = *random.pick(&[Kind::Echo, Kind::Adaptive, Kind::Streamed]);
        let is_too_slow = random.chance(500);
        // The window slides by halves, so what a second brings may count short by one of its pieces.
        let bytes_a_second = if is_too_slow { random.size(1..=95) } else { random.size(115..=300) } * 10;
        let length = bytes_a_second * 20;
        let target = kind.target(1, length);
        let mut script = Client::connecting_at(ms(0))
            .send(format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"));
        for piece in vec![b'x'; length].chunks(bytes_a_second.div_ceil(10)) {
            script = script.wait(ms(100)).send(piece);
        }
        let client = stage.net.add(script);
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        let (at, status) = last_answer(&stage, client);
        if is_too_slow {
            assert_eq!(status, 408, "{kind:?} at {bytes_a_second} bytes a second");
            // Two looks, each late by up to a tick; a reading handler looks again after a rest.
            assert_within(at, ms(stage.shared.limits.receive_rate_window_ms), ms(2 * TICK_MS + 10));
        } else {
            assert_eq!(status, 200, "{kind:?} at {bytes_a_second} bytes a second");
        }
    });
}

#[test]
fn a_body_behind_an_answer_that_waits_is_watched_too() {
    let stage = Stage::new(1, ExecutionModel::Inline, limits(), prompt());
    let request = Kind::Sized.target(1, 5_000);
    let client = stage.net.add(
        Client::connecting_at(ms(0))
            .send(format!("GET {request} HTTP/1.1\r\nHost: x\r\n\r\n"))
            .send(format!(
                "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
                Kind::Echo.target(1, 9)
            ))
            .buffers(9_000, 1_000)
            .reading(Reading::eager().from(ms(1_000))),
    );
    stage.drain_at(ms(100_000));
    let stage = stage.run();
    let (at, status) = last_answer(&stage, client);
    assert_eq!(status, 408);
    assert_within(at, ms(stage.shared.limits.receive_rate_window_ms), ms(1_000 + 2 * TICK_MS));
}

#[test]
fn a_client_that_reads_nothing_is_cut_when_its_time_is_up() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), prompt());
        let kind = *random.pick(&[
            Kind::Sized,
            Kind::Deferred,
            Kind::Written,
            Kind::WrittenSized,
            Kind::File,
            Kind::Parts,
        ]);
        // It reads now and then, up to a time, and never enough.
        let every = ms(random.within(1_000..=29_000));
        let reads = random.size(0..=3);
        let buffer_bytes = random.size(1_000..=5_000);
        let request = kind.target(1, 100_000);
        let reading =
            if reads == 0 { Reading::never() } else { Reading::slow(buffer_bytes, every).times(reads) };
        let client = stage.net.add(
            Client::connecting_at(ms(0))
                .send(format!("GET {request} HTTP/1.1\r\nHost: x\r\n\r\n"))
                .buffers(9_000, buffer_bytes)
                .reading(reading),
        );
        stage.drain_at(ms(400_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let progress = transcript.bytes.len().checked_sub(1).and_then(|last| transcript.arrived_at(last));
        let began = if kind == Kind::Deferred { ms(20) } else { ms(0) };
        let due = progress.unwrap_or_default() + ms(stage.shared.limits.write_stall_timeout_ms);
        assert_within(stage.net.closed_at(client), due, began + ms(TICK_MS + 1));
    });
}

#[test]
fn a_refused_connection_lingers_for_its_time() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), prompt());
        let at = ms(random.within(0..=5_000));
        let mut script = Client::connecting_at(at).send("nonsense\r\n\r\n");
        for _ in 0..random.size(0..=9) {
            script = script.wait(ms(random.within(0..=200))).send(vec![b'x'; 50_000]);
        }
        let client = stage.net.add(script);
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        assert_due(stage.net.closed_at(client), at + ms(stage.shared.limits.linger_timeout_ms));
        let transcript = stage.net.transcript(client);
        assert_eq!(transcript.end, Some(End::Ended(at)), "the client sees the end at once");
        assert_eq!(transcript.answers(|_| false).unwrap()[0].status, 400);
    });
}

#[test]
fn what_lingers_is_cut_when_it_sends_too_much() {
    let limits = Limits { max_linger_bytes: 100_000, ..limits() };
    let stage = Stage::new(1, ExecutionModel::Inline, limits, prompt());
    let mut script = Client::connecting_at(ms(0)).send("nonsense\r\n\r\n");
    for _ in 0..11 {
        script = script.wait(ms(10)).send(vec![b'x'; 10_000]);
    }
    let client = stage.net.add(script);
    stage.drain_at(ms(100_000));
    assert_eq!(stage.run().net.closed_at(client), Some(ms(110)));
}

#[test]
fn a_handler_past_its_time_out_is_answered_for() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let handler_time = ms(*random.pick(&[HASTY_TIMEOUT_MS - 100, HASTY_TIMEOUT_MS + 100]));
        let stage = Stage::new(seed, lending_model(&mut random), limits(), slow(handler_time));
        let at = ms(random.within(0..=1_000));
        let request = Kind::Hasty.target(1, 0);
        let client = stage
            .net
            .add(Client::connecting_at(at).send(format!("GET {request} HTTP/1.1\r\nHost: x\r\n\r\n")));
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let mut answers = transcript.answers(|_| false).unwrap();
        let is_in_time = handler_time < ms(HASTY_TIMEOUT_MS);
        let hints = answers.extract_if(.., |answer| answer.is_hint()).count();
        assert_eq!((hints, answers.len()), (usize::from(is_in_time), 1));
        if is_in_time {
            assert_eq!(answers[0].status, 200);
            assert_eq!(transcript.arrived_at(0), Some(at + handler_time));
        } else {
            assert_eq!(answers[0].status, 503);
            assert_due(transcript.arrived_at(0), at + ms(HASTY_TIMEOUT_MS));
            assert!(answers[0].closes() && transcript.end.is_some());
        }
    });
}

#[test]
fn a_time_out_counts_while_an_earlier_answer_waits() {
    let handler_time = ms(100_000);
    let stage = Stage::new(1, ExecutionModel::ThreadPool { threads: 4 }, limits(), slow(handler_time));
    let sized = Kind::Pinned.target(1, 0);
    let hasty = Kind::Hasty.target(1, 0);
    let client = stage.net.add(
        Client::connecting_at(ms(0))
            .send(format!("GET {sized} HTTP/1.1\r\nHost: x\r\n\r\nGET {hasty} HTTP/1.1\r\nHost: x\r\n\r\n"))
            .buffers(9_000, 10)
            .reading(Reading::slow(10, ms(5))),
    );
    stage.drain_at(ms(300_000));
    let stage = stage.run();
    let (at, status) = last_answer(&stage, client);
    assert_eq!(status, 503);
    // The pinned handler holds its loop at first.
    assert_within(at, handler_time + ms(HASTY_TIMEOUT_MS), ms(500));
}

#[test]
fn a_shutdown_waits_for_its_time_and_no_longer() {
    for_each_seed(SEEDS, |seed| {
        let mut random = Random::new(seed);
        let limits = Limits { shutdown_deadline_ms: random.within(0..=20_000), ..limits() };
        let (deadline, grace) = (ms(limits.shutdown_deadline_ms), ms(limits.shutdown_grace_ms));
        let stage = Stage::new(seed, lending_model(&mut random), limits, slow(ms(60_000)));
        let busy = stage.net.add(Client::connecting_at(ms(0)).send(HELLO));
        let idle = stage.net.add(Client::connecting_at(ms(0)));
        let at = ms(random.within(1..=30_000));
        stage.drain_at(at);
        let stage = stage.run();
        assert_eq!(stage.net.closed_at(idle), Some(at + grace.min(deadline)));
        assert_within(stage.net.closed_at(busy), at + deadline, ms(1));
    });
}
