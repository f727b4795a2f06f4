//! How connections end, and what must not be lost by it.

use tayet_testkit::{Client, End, Faults, Random, Reading, for_each_seed};

use super::application::Kind;
use super::ms;
use super::stage::{Habits, Stage};
use crate::{ExecutionModel, Limits};

const HELLO: &str = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

fn handlers_of(ms: u64) -> Habits {
    Habits { takeovers: 1_000, late_reports: 0, handler_us: ms * 1_000..=ms * 1_000, ..Habits::default() }
}

fn get(kind: Kind, size: usize) -> String {
    format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", kind.target(1, size))
}

#[test]
fn a_half_closed_connection_is_closed_behind_its_answer() {
    for execution in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }] {
        let stage = Stage::new(1, execution, limits(), handlers_of(50));
        let client = stage.net.add(Client::connecting_at(ms(0)).send(HELLO).wait(ms(10)).half_close());
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        assert_eq!(transcript.answers(|_| false).unwrap().len(), 1, "{execution}");
        assert_eq!(transcript.end, Some(End::Ended(ms(50))), "{execution}");
    }
}

#[test]
fn what_a_worker_has_answered_lets_the_next_request_go_on_at_once() {
    let stage = Stage::new(1, ExecutionModel::ThreadPool { threads: 4 }, limits(), handlers_of(50));
    let client = stage.net.add(Client::connecting_at(ms(0)).send(HELLO).wait(ms(10)).send(HELLO.repeat(2)));
    stage.drain_at(ms(50_000));
    let stage = stage.run();
    let transcript = stage.net.transcript(client);
    assert_eq!(transcript.answers(|_| false).unwrap().len(), 3);
    assert_eq!(transcript.arrived_at(transcript.bytes.len() - 1), Some(ms(150)));
}

#[test]
fn an_answer_waits_for_those_before_it_that_are_still_being_sent() {
    for_each_seed(20, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(
            seed,
            ExecutionModel::default(),
            limits(),
            Habits { takeovers: 500, ..handlers_of(10) },
        );
        let script =
            Client::connecting_at(ms(0)).send(get(Kind::Sized, 5_000).repeat(6) + &get(Kind::Plain, 0));
        let reading = Reading::slow(random.size(200..=900), ms(15));
        let client = stage.net.add(script.buffers(10_000, 1_000).reading(reading));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let answers = stage.net.transcript(client).answers(|_| false).unwrap();
        let (_, body) = Kind::Sized.answer(1, 5_000, b"");
        assert_eq!(answers.len(), 7);
        assert!(answers[..6].iter().all(|answer| answer.status == 200 && answer.body == body));
    });
}

#[test]
fn closing_takes_in_what_was_held_back_so_that_the_answer_is_not_lost() {
    for execution in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }] {
        let limits = Limits { pipeline_buffer_bytes: 1_000, ..limits() };
        let stage = Stage::new(1, execution, limits, handlers_of(50));
        let last = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let late = Reading::eager().from(ms(2_500));
        let script = Client::connecting_at(ms(0)).send(last).wait(ms(10)).send(vec![b'x'; 300_000]);
        let client = stage.net.add(script.reading(late));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        assert_eq!(transcript.answers(|_| false).unwrap().len(), 1, "{execution}");
        assert_eq!(transcript.end, Some(End::Ended(ms(2_500))), "{execution}");
    }
}

#[test]
fn a_body_that_nobody_reads_is_no_request() {
    for_each_seed(50, |seed| {
        let mut random = Random::new(seed);
        let execution = super::any_model(&mut random);
        let stage = Stage::new(seed, execution, limits(), handlers_of(1));
        let kind = *random.pick(&[Kind::Ignoring, Kind::Deferred]);
        let body = HELLO.repeat(20_000);
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
            kind.target(1, 9),
            body.len()
        );
        let client = stage.net.add(Client::connecting_at(ms(0)).send(head + &body));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let answers = transcript.answers(|_| false).unwrap();
        assert_eq!(answers.len(), 1);
        assert!(answers[0].status == 200 && answers[0].closes(), "{kind:?} {execution} {:?}", answers[0]);
        assert!(matches!(transcript.end, Some(End::Ended(_))));
    });
}

#[test]
fn a_handler_learns_that_its_client_has_gone() {
    for_each_seed(50, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, super::any_model(&mut random), limits(), handlers_of(1));
        let kind = *random.pick(&[Kind::Streamed, Kind::Adaptive]);
        let head =
            format!("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", kind.target(1, 0));
        let script = Client::connecting_at(ms(0)).send(head).send(vec![b'x'; 50_000]).wait(ms(20));
        stage.net.add(if random.chance(500) { script.reset() } else { script.close() });
        stage.drain_at(ms(1_000));
        let stage = stage.run();
        let grace_ms = stage.shared.limits.shutdown_grace_ms;
        assert!(stage.net.elapsed() <= ms(1_001 + grace_ms), "a connection was waited for");
        assert_eq!(stage.busy_workers(), 0);
    });
}

#[test]
fn a_time_out_and_the_answer_that_comes_too_late_never_mix() {
    for_each_seed(500, |seed| {
        let mut random = Random::new(seed);
        let execution = *random.pick(&[ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }]);
        let habits = Habits { takeovers: 1_000, handler_us: 0..=800_000, ..Habits::default() };
        let stage = Stage::new(seed, execution, limits(), habits);
        stage.net.set_faults(Faults::bearable(&mut random));
        let asked = (0..5).map(|_| {
            let kind = *random.pick(&[Kind::Hasty, Kind::Hasty, Kind::Plain, Kind::Sized, Kind::Deferred]);
            (kind, *random.pick(&[10, 20_000]))
        });
        let asked = asked.collect::<Vec<_>>();
        let requests = asked.iter().map(|(kind, size)| get(*kind, *size)).collect::<String>();
        let script = Client::connecting_at(ms(0)).send_cut(requests, &mut random, 9, ms(100));
        let client = stage.net.add(script.buffers(10_000, random.size(5_000..=60_000)));
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let mut answers = transcript.answers(|_| false).unwrap();
        assert!(answers.last().is_none_or(|answer| !answer.is_hint()), "a hint follows the last answer");
        answers.retain(|answer| !answer.is_hint());
        let is_late = answers.last().is_some_and(|answer| answer.status == 503);
        assert!(answers.len() == asked.len() || is_late, "{asked:?}: {} answers", answers.len());
        for (at, (answer, (kind, size))) in answers.iter().zip(asked).enumerate() {
            if answer.status == 503 {
                let is_last = at + 1 == answers.len() && answer.closes();
                assert!(kind == Kind::Hasty && is_last, "{kind:?}, answer {at} of {}", answers.len());
            } else {
                assert_eq!((answer.status, answer.body.clone()), kind.answer(1, size, b""));
            }
        }
    });
}
