//! Answers made of files: who sends them, who waits, and how they end.

use tayet_net::TICK_MS;
use tayet_testkit::{Client, End, Random, Reading, for_each_seed};

use super::application::Kind;
use super::stage::{Habits, Stage};
use super::{any_model, ms};
use crate::{ExecutionModel, Limits};

const SIZE: usize = 90_000;

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

/// One worker, who is quick.
fn one_worker() -> Habits {
    Habits { takeovers: 0, late_reports: 0, handler_us: 0..=10, workers: 1, ..Habits::default() }
}

fn get(kind: Kind, size: usize) -> String {
    format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", kind.target(1, size))
}

#[test]
fn clients_that_read_slowly_occupy_no_worker() {
    for_each_seed(50, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), one_worker());
        let slow = (0..20).map(|_| {
            let kind = *random.pick(&[Kind::File, Kind::Parts]);
            // Some eighteen reads, a second or two apart.
            let reading = Reading::slow(5_000, ms(random.within(1_000..=2_000)));
            let client = Client::connecting_at(ms(0)).send(get(kind, SIZE)).buffers(9_000, 5_000);
            stage.net.add(client.reading(reading))
        });
        let slow = slow.collect::<Vec<_>>();
        let asked_at = ms(random.within(5_000..=9_000));
        let other = stage.net.add(Client::connecting_at(asked_at).send(get(Kind::Blocking, 0)));
        stage.drain_at(ms(100_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(other);
        let answered_at = transcript.arrived_at(0).expect("an answer");
        assert!(answered_at <= asked_at + ms(2), "asked at {asked_at:?}, answered at {answered_at:?}");
        for client in slow {
            let transcript = stage.net.transcript(client);
            let answers = transcript.answers(|_| false).unwrap();
            assert_eq!(answers.len(), 1);
            assert_eq!((answers[0].status, answers[0].body.clone()), Kind::File.answer(1, SIZE, b""));
            let last = transcript.arrived_at(transcript.bytes.len() - 1).unwrap();
            assert!(last > ms(15_000), "it was not read slowly, but within {last:?}");
        }
    });
}

#[test]
fn a_connection_goes_on_behind_a_download_at_once() {
    for_each_seed(50, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), one_worker());
        let requests =
            get(Kind::File, SIZE) + &get(Kind::Plain, 0) + &get(Kind::Parts, SIZE) + &get(Kind::Plain, 0);
        let reading = Reading::slow(30_000, ms(100));
        let script = Client::connecting_at(ms(0)).send_cut(requests, &mut random, 4, ms(50));
        let client = stage.net.add(script.buffers(9_000, 30_000).reading(reading));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let bodies = transcript.answers(|_| false).unwrap().into_iter().map(|answer| answer.body);
        let expected =
            [Kind::File, Kind::Plain, Kind::Parts, Kind::Plain].map(|kind| kind.answer(1, SIZE, b"").1);
        assert_eq!(bodies.collect::<Vec<_>>(), expected);
        // Seven reads, and what the heads come to.
        let last = transcript.arrived_at(transcript.bytes.len() - 1).unwrap();
        assert!(last <= ms(1_100), "the last byte came at {last:?}");
    });
}

#[test]
fn a_file_that_has_become_shorter_ends_the_connection() {
    for_each_seed(50, |seed| {
        let mut random = Random::new(seed);
        let stage = Stage::new(seed, any_model(&mut random), limits(), one_worker());
        let reading = Reading::slow(10_000, ms(random.within(0..=10)));
        let script = Client::connecting_at(ms(0)).send(get(Kind::Shrunken, SIZE) + &get(Kind::Plain, 0));
        let client = stage.net.add(script.buffers(9_000, random.size(9_000..=200_000)).reading(reading));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        assert!(transcript.answers(|_| false).unwrap().is_empty(), "it was told to be whole");
        assert!(
            String::from_utf8_lossy(&transcript.bytes)
                .to_ascii_lowercase()
                .contains("content-length: 90000\r\n")
        );
        assert!(matches!(transcript.end, Some(End::Ended(at) | End::Reset(at)) if at <= ms(2_000)));
    });
}

#[test]
fn a_download_under_way_when_a_drain_begins_comes_to_its_end_and_nothing_waits_behind_it() {
    for_each_seed(100, |seed| {
        let mut random = Random::new(seed);
        let habits = Habits { late_reports: *random.pick(&[0, 1_000]), ..one_worker() };
        let stage = Stage::new(seed, any_model(&mut random), limits(), habits);
        let reading = Reading::slow(9_000, ms(500));
        let kind = *random.pick(&[Kind::File, Kind::Parts]);
        let client =
            Client::connecting_at(ms(0)).send(get(kind, SIZE)).buffers(9_000, 9_000).reading(reading);
        let client = stage.net.add(client);
        stage.drain_at(ms(random.within(500..=4_000)));
        let stage = stage.run();
        let stopped_at = stage.net.elapsed();
        // What the kernel has is read after the server's end.
        stage.net.pass(ms(5_000));
        let transcript = stage.net.transcript(client);
        assert_eq!(transcript.answers(|_| false).unwrap().len(), 1);
        let last = transcript.arrived_at(transcript.bytes.len() - 1).unwrap();
        assert!(stopped_at <= last, "all was read at {last:?}, and the server stopped at {stopped_at:?}");
    });
}

#[test]
fn a_client_that_goes_within_a_download_is_let_go() {
    for_each_seed(100, |seed| {
        let mut random = Random::new(seed);
        let execution = *random.pick(&[ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }]);
        let stage = Stage::new(seed, execution, limits(), one_worker());
        let gone_at = ms(random.within(1..=2_000));
        let script = Client::connecting_at(ms(0)).send(get(Kind::File, SIZE)).wait(gone_at);
        let script = if random.chance(500) { script.reset() } else { script.close() };
        let reading = Reading::slow(3_000, ms(300));
        let client = stage.net.add(script.buffers(9_000, 3_000).reading(reading));
        stage.drain_at(ms(50_000));
        let stage = stage.run();
        let closed_at = stage.net.closed_at(client).expect("the connection is closed");
        assert!(closed_at <= gone_at + ms(TICK_MS), "gone at {gone_at:?}, closed at {closed_at:?}");
        assert_eq!(stage.busy_workers(), 0);
    });
}
