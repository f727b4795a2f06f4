//! Small answers, and small messages, beside those of loops that do nothing else and of the quickest peers, in short turns: what a few
//! per cent are to be seen of.

use super::http::{FLOOR_PARSING, TAYET_4_THREADS, TAYET_HELLO};
use super::websockets::{self, FASTWEBSOCKETS, TUNGSTENITE};
use super::{Family, Scenario, Work, beside};
use crate::bench::contestant::{Contestant, FLOOR, NTEX, Program, TAYET, TAYET_INLINE, peer, tayet};
use crate::bench::short_turns::{ShortTurns, Traffic};

pub(in crate::bench) const FLOOR_IO_URING: Contestant =
    peer("floor-io-uring", "bare io_uring loop", Program::Floor("floor-io-uring"));
pub(in crate::bench) const TAYET_IO_URING: Contestant =
    tayet("tayet-io-uring", "Tayet, io_uring", &["--io", "io_uring"]);

const EPOLL: &[Contestant] = &[FLOOR, FLOOR_PARSING, TAYET_HELLO, TAYET];
const IO_URING: &[Contestant] = &[FLOOR_IO_URING, TAYET_IO_URING, FLOOR, TAYET];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        hello("turns-64", "Hello in short turns, 64 connections", (64, 1), EPOLL),
        hello("turns-512", "Hello in short turns, 512 connections", (512, 1), EPOLL),
        hello("turns-4096", "Hello in short turns, 4,096 connections", (4_096, 1), EPOLL),
        hello(
            "turns-pipelined",
            "Hello in short turns, 64 connections, 16 requests pipelined",
            (64, 16),
            EPOLL,
        ),
        hello(
            "turns-dispatched",
            "Hello through the pool in short turns, 64 connections",
            (64, 1),
            &[TAYET_INLINE, TAYET_4_THREADS],
        ),
        hello("turns-io-uring-64", "Hello by io_uring in short turns, 64 connections", (64, 1), IO_URING),
        hello("turns-io-uring-512", "Hello by io_uring in short turns, 512 connections", (512, 1), IO_URING),
        hello(
            "turns-io-uring-4096",
            "Hello by io_uring in short turns, 4,096 connections",
            (4_096, 1),
            IO_URING,
        ),
        echo("turns-websockets-64", "WebSocket echo in short turns, 64 bytes, 64 sockets", 64),
        echo("turns-websockets-512", "WebSocket echo in short turns, 64 bytes, 512 sockets", 512),
    ]
}

/// `pipelined` requests at once on each of so many connections.
fn hello(
    name: &'static str,
    title: &'static str,
    (connections, pipelined): (u32, u32),
    contestants: &[Contestant],
) -> Scenario {
    let work = Work::ShortTurns(ShortTurns { connections, traffic: Traffic::Requests { pipelined } });
    Scenario { name, title, family: Family::Turns, path: "/", work, entries: beside(contestants) }
}

fn echo(name: &'static str, title: &'static str, connections: u32) -> Scenario {
    let work = Work::ShortTurns(ShortTurns { connections, traffic: Traffic::Messages });
    let entries = beside(&[websockets::FLOOR, TAYET, NTEX, TUNGSTENITE, FASTWEBSOCKETS]);
    Scenario { name, title, family: Family::Turns, path: websockets::ECHO, work, entries }
}
