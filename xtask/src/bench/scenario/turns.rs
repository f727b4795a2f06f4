//! Small answers beside those of loops that do nothing else, in short turns: what a few per cent are to be seen of.

use super::http::{FLOOR_PARSING, TAYET_HELLO};
use super::{Family, Scenario, Work, beside};
use crate::bench::contestant::{FLOOR, TAYET};
use crate::bench::short_turns::ShortTurns;

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        turns("turns-64", "Hello in short turns, 64 connections", 64, 1),
        turns("turns-512", "Hello in short turns, 512 connections", 512, 1),
        turns("turns-4096", "Hello in short turns, 4,096 connections", 4_096, 1),
        turns("turns-pipelined", "Hello in short turns, 64 connections, 16 requests pipelined", 64, 16),
    ]
}

fn turns(name: &'static str, title: &'static str, connections: u32, pipelined: u32) -> Scenario {
    let work = Work::ShortTurns(ShortTurns { connections, pipelined });
    let entries = beside(&[FLOOR, FLOOR_PARSING, TAYET_HELLO, TAYET]);
    Scenario { name, title, family: Family::Turns, path: "/", work, entries }
}
