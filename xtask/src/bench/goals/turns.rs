//! What is asked of plain requests beside the bare loop, and of WebSockets beside the peers, where a few per cent can be told.

use super::Demand::AtMost;
use super::{Goal, Measured, goal, websockets};
use crate::bench::contestant::{Contestant, FLOOR, TAYET, TAYET_INLINE};
use crate::bench::figure::Figure;
use crate::bench::scenario::http::TAYET_4_THREADS;
use crate::bench::scenario::turns::{FLOOR_IO_URING, TAYET_IO_URING};

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let hello = |(connections, scenario, tayet, floor): (_, _, _, Contestant)| {
        goal(
            &format!("hello, {connections} connections: CPU a request over the {}", floor.title),
            measured.ratio(scenario, tayet, floor, Figure::CpuUsPerRequest),
            (2, AtMost(1.05), None),
        )
    };
    let dispatched = goal(
        "dispatched hello, 64 connections: CPU a request, 4 threads over inline",
        measured.ratio("turns-dispatched", TAYET_4_THREADS, TAYET_INLINE, Figure::CpuUsPerRequest),
        (2, AtMost(1.15), None),
    );
    let echo = |(sockets, scenario)| websockets::echo(measured, sockets, scenario);
    let hellos = [
        ("64", "turns-64", TAYET, FLOOR),
        ("512", "turns-512", TAYET, FLOOR),
        ("4,096", "turns-4096", TAYET, FLOOR),
        ("64", "turns-io-uring-64", TAYET_IO_URING, FLOOR_IO_URING),
        ("512", "turns-io-uring-512", TAYET_IO_URING, FLOOR_IO_URING),
        ("4,096", "turns-io-uring-4096", TAYET_IO_URING, FLOOR_IO_URING),
    ]
    .map(hello);
    let echoes = [(64, "turns-websockets-64"), (512, "turns-websockets-512")].map(echo);
    hellos.into_iter().chain([dispatched]).chain(echoes).collect()
}
