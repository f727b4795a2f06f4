//! Small answers, and small messages, beside those of loops that do nothing else and of the quickest peers, in short turns: what a few
//! per cent are to be seen of.

use super::http::{FLOOR_PARSING, TAYET_HELLO};
use super::websockets::{self, FASTWEBSOCKETS, TUNGSTENITE};
use super::{Family, Scenario, Work, beside};
use crate::bench::contestant::{FLOOR, NTEX, TAYET};
use crate::bench::short_turns::{ShortTurns, Traffic};

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        hello("turns-64", "Hello in short turns, 64 connections", 64, 1),
        hello("turns-512", "Hello in short turns, 512 connections", 512, 1),
        hello("turns-4096", "Hello in short turns, 4,096 connections", 4_096, 1),
        hello("turns-pipelined", "Hello in short turns, 64 connections, 16 requests pipelined", 64, 16),
        echo("turns-websockets-64", "WebSocket echo in short turns, 64 bytes, 64 sockets", 64),
        echo("turns-websockets-512", "WebSocket echo in short turns, 64 bytes, 512 sockets", 512),
    ]
}

fn hello(name: &'static str, title: &'static str, connections: u32, pipelined: u32) -> Scenario {
    let work = Work::ShortTurns(ShortTurns { connections, traffic: Traffic::Requests { pipelined } });
    let entries = beside(&[FLOOR, FLOOR_PARSING, TAYET_HELLO, TAYET]);
    Scenario { name, title, family: Family::Turns, path: "/", work, entries }
}

fn echo(name: &'static str, title: &'static str, connections: u32) -> Scenario {
    let work = Work::ShortTurns(ShortTurns { connections, traffic: Traffic::Messages });
    let entries = beside(&[websockets::FLOOR, TAYET, NTEX, TUNGSTENITE, FASTWEBSOCKETS]);
    Scenario { name, title, family: Family::Turns, path: websockets::ECHO, work, entries }
}
