//! What is asked of WebSockets.

use super::Demand::{AtLeast, AtMost};
use super::{Goal, Measured, goal};
use crate::bench::contestant::TAYET;
use crate::bench::figure::Figure;
use crate::bench::scenario::MILLION;

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (sockets, scenario) in [(64, "websockets-echo-64"), (512, "websockets-echo-512")] {
        goals.push(echo(measured, sockets, scenario));
    }
    goals.extend([
        goal(
            "publications to 10,000 WebSockets: CPU a delivery, task pool over the best peer",
            measured.over_peers("websockets-fanout", TAYET, Figure::CpuUsPerDelivery, f64::max),
            (2, AtMost(1.0), None),
        ),
        goal(
            "publications to 10,000 WebSockets: deliveries/s, task pool over the best peer",
            measured.over_peers("websockets-fanout", TAYET, Figure::DeliveriesPerSecond, f64::min),
            (2, AtLeast(1.0), None),
        ),
        goal(
            "idle WebSockets: bytes a socket, task pool",
            measured.median("websockets-idle", TAYET, Figure::BytesPerSocket),
            (0, AtMost(512.0), None),
        ),
        goal(
            "idle WebSockets with permessage-deflate: bytes a socket, task pool",
            measured.median("websockets-deflate", TAYET, Figure::BytesPerSocket),
            (0, AtMost(1024.0), None),
        ),
        goal(
            "WebSockets held at once on one machine, task pool (`--million`)",
            measured.median(MILLION, TAYET, Figure::Sockets),
            (0, AtLeast(1_000_000.0), None),
        ),
        goal(
            "of these, pinged (`--million`)",
            measured.median(MILLION, TAYET, Figure::Pinged),
            (0, AtLeast(1_000_000.0), None),
        ),
    ]);
    goals
}

/// What an echo on so many sockets is to cost, by whatever load.
pub(super) fn echo(measured: Measured<'_>, sockets: u32, scenario: &str) -> Goal {
    goal(
        &format!("WebSocket echo, {sockets} sockets: CPU a message, task pool over the best peer"),
        measured.over_peers(scenario, TAYET, Figure::CpuUsPerMessage, f64::max),
        (2, AtMost(1.0), None),
    )
}
