//! Shutdown: what is under way is answered, and nothing is waited for beyond that.

use std::time::Duration;

use tayet_testkit::{Client, Faults, Random, for_each_seed};

use super::application::Kind;
use super::stage::{Habits, Stage};
use super::{any_stage, ms};
use crate::{ExecutionModel, Limits};

const HELLO: &str = "GET /Plain/1/0 HTTP/1.1\r\nHost: x\r\n\r\n";

/// Longest that what is under way may take: less than the shutdown's deadline.
const LONGEST: Duration = Duration::from_secs(25);

fn limits() -> Limits {
    Limits { max_connections: 1_000, ..Limits::default() }
}

#[test]
fn a_drain_at_any_time_gives_right_answers_and_comes_to_its_end() {
    for_each_seed(1_000, |seed| {
        let (stage, clients) = any_stage(seed);
        let at = ms(Random::new(!seed).within(0..=300));
        stage.drain_at(at);
        let stage = stage.run();
        for (client, conversation) in clients {
            conversation.check_answers(&stage.net.transcript(client));
        }
        assert!(stage.net.elapsed() <= at + LONGEST, "it took until {:?}", stage.net.elapsed());
    });
}

#[test]
fn a_drain_waits_for_a_report_and_no_longer() {
    let habits = Habits { late_reports: 1_000, handler_us: 50_000..=50_000, ..Habits::default() };
    let limits = Limits { shutdown_grace_ms: 0, ..limits() };
    let stage = Stage::new(1, ExecutionModel::ThreadPool { threads: 4 }, limits, habits);
    let client = stage.net.add(Client::connecting_at(ms(0)).send(HELLO));
    // Between the answer, after 50 ms, and the report of it after 100 ms.
    stage.drain_at(ms(75));
    let stage = stage.run();
    assert_eq!(stage.net.transcript(client).arrived_at(0), Some(ms(50)));
    assert_eq!(stage.net.elapsed(), ms(100));
}

#[test]
fn what_is_on_its_way_when_a_drain_begins_is_answered_within_the_grace_and_not_beyond() {
    for_each_seed(100, |seed| {
        let mut random = Random::new(seed);
        let limits = Limits { shutdown_grace_ms: 100, ..limits() };
        let stage = Stage::new(seed, super::any_model(&mut random), limits, Habits::default());
        stage.drain_at(ms(1_000));
        let in_time = random.within(1_000..=1_090);
        let idle = stage.net.add(Client::connecting_at(ms(0)).wait(ms(in_time)).send(HELLO));
        let new =
            stage.net.add(Client::connecting_at(ms(random.within(1_000..=1_045))).wait(ms(40)).send(HELLO));
        let late = stage.net.add(Client::connecting_at(ms(0)).wait(ms(1_200)).send(HELLO));
        let stage = stage.run();
        for client in [idle, new] {
            let answers = stage.net.transcript(client).answers(|_| false).unwrap();
            assert!(
                answers.len() == 1 && answers[0].status == 200 && answers[0].closes(),
                "sent at {in_time}"
            );
        }
        assert!(stage.net.transcript(late).answers(|_| false).unwrap().is_empty());
        // Handlers take up to 3 ms each, on the loop's thread.
        assert!(stage.net.closed_at(late).is_some_and(|at| (ms(1_100)..=ms(1_110)).contains(&at)));
    });
}

#[test]
fn a_drain_while_accepting_is_paused_does_not_spin() {
    let stage = Stage::new(1, ExecutionModel::Inline, limits(), Habits::default());
    stage.net.exhaust_descriptors(ms(1), ms(100_000));
    let busy = stage.net.add(Client::connecting_at(ms(0)).send("GET /Pl"));
    let refused = stage.net.add(Client::connecting_at(ms(5)));
    stage.drain_at(ms(10));
    let stage = stage.run();
    assert!(stage.net.transcript(refused).end.is_some());
    assert_eq!(stage.net.transcript(busy).answers(|_| false).unwrap()[0].status, 408);
    assert!(stage.net.timeouts() < 10, "{} wakes for nothing", stage.net.timeouts());
}

#[test]
fn answers_under_way_close_their_connections() {
    for_each_seed(100, |seed| {
        let mut random = Random::new(seed);
        let execution = super::any_model(&mut random);
        let habits = Habits { handler_us: 1_000..=9_000, ..Habits::default() };
        let stage = Stage::new(seed, execution, limits(), habits);
        stage.net.set_faults(Faults { short_write: 300, ..Faults::default() });
        let kind = *random.pick(&[
            Kind::Plain,
            Kind::Blocking,
            Kind::Deferred,
            Kind::Sized,
            Kind::Written,
            Kind::File,
        ]);
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", kind.target(1, 20_000));
        let mut script = Client::connecting_at(ms(0));
        for answers in 1..=100 {
            script = script.send(request.clone()).await_answers(answers);
        }
        let client = stage.net.add(script);
        let at = ms(random.within(5..=90));
        stage.drain_at(at);
        let stage = stage.run();
        let transcript = stage.net.transcript(client);
        let answers = transcript.answers(|_| false).unwrap();
        // One that a worker had answered when the drain began says nothing of it, and is closed all the same.
        let (last, before) = answers.split_last().expect("at least one answer");
        assert!(before.iter().all(|answer| answer.status == 200 && !answer.closes()));
        assert!(last.status == 200 && transcript.end.is_some());
        // The client asks on whatever it is told, so that the connection may linger.
        let longest = ms(100 + stage.shared.limits.linger_timeout_ms);
        assert!(stage.net.elapsed() <= at + longest, "drained at {at:?}, ended at {:?}", stage.net.elapsed());
    });
}
