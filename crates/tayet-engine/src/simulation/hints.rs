//! Interim responses: when they come, and when they must not.

use tayet_testkit::{Client, Random, for_each_seed};

use super::application::{HASTY_TIMEOUT_MS, Kind};
use super::ms;
use super::stage::{Habits, Stage};
use crate::{ExecutionModel, Limits};

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

fn get(kind: Kind, tag: u64, size: usize, version: &str) -> String {
    format!("GET {} {version}\r\nHost: x\r\n\r\n", kind.target(tag, size))
}

/// The statuses that a client of these bytes gets.
fn statuses(seed: u64, execution: ExecutionModel, habits: Habits, bytes: &str) -> Vec<u16> {
    let stage = Stage::new(seed, execution, limits(), habits);
    let client = stage.net.add(Client::connecting_at(ms(0)).send(bytes.to_owned()));
    stage.drain_at(ms(50_000));
    let stage = stage.run();
    let answers = stage.net.transcript(client).answers(|_| false).unwrap();
    answers.iter().map(|answer| answer.status).collect()
}

#[test]
fn every_hint_stands_before_its_answer_wherever_the_handler_runs() {
    for_each_seed(100, |seed| {
        let mut random = Random::new(seed);
        let asked =
            [(Kind::Plain, 0), (Kind::Hinted, 2), (Kind::Hinted, 1), (Kind::Sized, 0), (Kind::Hinted, 3)];
        let requests = asked.map(|(kind, size)| get(kind, 1, size, "HTTP/1.1")).concat();
        let habits = super::any_habits(&mut random);
        let expected = [200, 103, 103, 200, 103, 200, 200, 103, 103, 103, 200];
        assert_eq!(statuses(seed, super::any_model(&mut random), habits, &requests), expected);
    });
}

#[test]
fn a_client_of_http_1_0_gets_no_hint() {
    for execution in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }] {
        let request = get(Kind::Hinted, 1, 3, "HTTP/1.0");
        assert_eq!(statuses(1, execution, Habits::default(), &request), [200], "{execution}");
    }
}

#[test]
fn no_hint_follows_the_answer_that_the_time_out_gave() {
    for execution in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 4 }] {
        let late_us = (HASTY_TIMEOUT_MS + 500) * 1_000;
        let habits = Habits { takeovers: 1_000, handler_us: late_us..=late_us, ..Habits::default() };
        let request = get(Kind::Hasty, 1, 0, "HTTP/1.1");
        assert_eq!(statuses(1, execution, habits, &request), [503], "{execution}");
    }
}
