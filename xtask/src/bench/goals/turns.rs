//! What is asked of plain requests beside the bare loop, and of WebSockets beside the peers, where a few per cent can be told.

use super::Demand::AtMost;
use super::{Goal, Measured, goal, websockets};
use crate::bench::contestant::{FLOOR, TAYET};
use crate::bench::figure::Figure;

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let hello = |(connections, scenario)| {
        goal(
            &format!("hello, {connections} connections: CPU a request over the bare epoll loop"),
            measured.ratio(scenario, TAYET, FLOOR, Figure::CpuUsPerRequest),
            (2, AtMost(1.05), None),
        )
    };
    let echo = |(sockets, scenario)| websockets::echo(measured, sockets, scenario);
    let hellos = [("64", "turns-64"), ("512", "turns-512"), ("4,096", "turns-4096")].map(hello);
    let echoes = [(64, "turns-websockets-64"), (512, "turns-websockets-512")].map(echo);
    hellos.into_iter().chain(echoes).collect()
}
