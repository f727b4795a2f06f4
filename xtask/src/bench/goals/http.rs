//! What is asked of plain requests.

use super::Demand::{AtLeast, AtMost};
use super::{Goal, Measured, goal};
use crate::bench::contestant::{ASTRA, FLOOR, TAYET, TAYET_INLINE};
use crate::bench::figure::Figure;
use crate::bench::report::Row;
use crate::bench::scenario::http::{
    ACTIX_BLOCK, AXUM_BLOCK, FLOOR_1_LOOP, FLOOR_8_LOOPS, SLEEPER, TAYET_1_LOOP, TAYET_4_THREADS,
    TAYET_8_LOOPS, TAYET_100_THREADS, TAYET_HELLO,
};

/// The least that loops are taken to add to the CPU of a request: what figures are rounded to. 1 ns.
const LEAST_ADDED_US: f64 = 0.001;

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    [cost_goals(measured), sleep_goals(measured), crowd_goals(measured)].concat()
}

fn cost_goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = vec![goal(
        "hello, 64 connections: CPU a request, task pool over inline",
        measured.ratio("hello-64", TAYET, TAYET_INLINE, Figure::CpuUsPerRequest),
        (2, AtMost(1.10), None),
    )];
    for (connections, scenario) in [("64", "hello-64"), ("512", "hello-512"), ("4,096", "hello-4096")] {
        goals.push(goal(
            &format!("hello, {connections} connections: CPU a request over the bare epoll loop"),
            measured.ratio(scenario, TAYET, FLOOR, Figure::CpuUsPerRequest),
            (2, AtMost(1.05), None),
        ));
    }
    goals.extend([
        goal(
            "hello, 64 connections: user-space CPU µs a request, beyond the bare epoll loop's",
            user_beyond_floor(measured),
            (2, AtMost(0.8), None),
        ),
        goal(
            "16 requests pipelined: requests/s over the bare epoll loop",
            measured.ratio("pipelined", TAYET, FLOOR, Figure::RequestsPerSecond),
            (2, AtLeast(0.95), None),
        ),
        goal(
            "16 requests pipelined: CPU that 8 loops add to one's, over what loops add that share nothing",
            over_sharing_nothing(measured),
            (2, AtMost(1.15), None),
        ),
        goal(
            "dispatched hello: CPU a request, 4 threads over inline",
            measured.ratio("dispatched", TAYET_4_THREADS, TAYET_INLINE, Figure::CpuUsPerRequest),
            (2, AtMost(1.15), None),
        ),
    ]);
    for (what, scenario) in [
        ("hello, 64 connections", "hello-64"),
        ("16 requests pipelined", "pipelined"),
        ("connections of 10 requests each", "short"),
        ("JSON, 50 items", "json"),
    ] {
        goals.push(goal(
            &format!("{what}: CPU a request over the best peer"),
            measured.over_peers(scenario, TAYET, Figure::CpuUsPerRequest, f64::max),
            (2, AtMost(1.0), None),
        ));
    }
    let dispatches = |row: &Row| [AXUM_BLOCK, ACTIX_BLOCK, ASTRA].iter().any(|peer| peer.key == row.key);
    goals.push(goal(
        "dispatched hello: CPU a request over the best peer that dispatches",
        measured.over_rows("dispatched", TAYET_4_THREADS, Figure::CpuUsPerRequest, f64::max, dispatches),
        (2, AtMost(1.0), None),
    ));
    goals
}

fn crowd_goals(measured: Measured<'_>) -> Vec<Goal> {
    vec![
        goal(
            "mixed load: p99 µs of the fast route, task pool",
            measured.median("mixed", TAYET, Figure::P99Us),
            (0, AtMost(5_000.0), None),
        ),
        goal(
            "steady load: p99 over 10,000 connections over that over 512, task pool",
            measured
                .median("paced-10000", TAYET, Figure::P99Us)
                .zip(measured.median("paced-512", TAYET, Figure::P99Us))
                .map(|(many, few)| many / few),
            (2, AtMost(3.0), None),
        ),
        goal(
            "fairness: answered of 64 connections beside 10,000 idle ones, task pool",
            measured.median("fairness", TAYET, Figure::AnsweredBesideIdle),
            (0, AtLeast(64.0), None),
        ),
        goal(
            "memory: bytes an idle connection, task pool",
            measured.median("memory", TAYET, Figure::BytesPerIdleConnection),
            (0, AtMost(512.0), None),
        ),
        goal(
            "hello, 64 connections: peak RSS MB, example 01_hello",
            measured.median("hello-64", TAYET_HELLO, Figure::PeakRssMb),
            (1, AtMost(8.0), Some(AtMost(6.0))),
        ),
        goal(
            "hello, 512 connections: peak RSS MB, example 01_hello",
            measured.median("hello-512", TAYET_HELLO, Figure::PeakRssMb),
            (1, AtMost(8.0), None),
        ),
    ]
}

/// The kernel tells user space by sampling, and counts to it what system calls take to begin and to end: of the bare loop, which has
/// next to nothing else there, a quarter of a microsecond. Both make the same calls, so that this cancels out.
fn user_beyond_floor(measured: Measured<'_>) -> Option<f64> {
    let user = |contestant| measured.median("hello-64", contestant, Figure::UserUsPerRequest);
    Some(user(TAYET)? - user(FLOOR)?)
}

/// Loops that have nothing in common but the cores cost more than one, too. What Tayet's cost beyond that would be what they write
/// to together.
fn over_sharing_nothing(measured: Measured<'_>) -> Option<f64> {
    let cpu = |contestant| measured.median("loops", contestant, Figure::CpuUsPerRequest);
    let added = cpu(TAYET_8_LOOPS)? - cpu(TAYET_1_LOOP)?;
    let added_to_floor = cpu(FLOOR_8_LOOPS)? - cpu(FLOOR_1_LOOP)?;
    // Where they add nothing to the floor, Tayet's may add nothing either.
    Some(added / added_to_floor.max(LEAST_ADDED_US))
}

fn sleep_goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (connections, scenario) in [(10, "sleep-10"), (50, "sleep-50"), (100, "sleep-100")] {
        for contestant in [TAYET, TAYET_100_THREADS] {
            goals.push(goal(
                &format!(
                    "10 ms sleep, {connections} connections: requests/s, {} over the bare sleeper",
                    contestant.title
                ),
                measured.ratio(scenario, contestant, SLEEPER, Figure::RequestsPerSecond),
                (2, AtLeast(0.97), None),
            ));
            goals.push(goal(
                &format!(
                    "10 ms sleep, {connections} connections: requests/s over the bound, {}",
                    contestant.title
                ),
                measured.over_bound(scenario, contestant),
                (3, AtMost(1.0), None),
            ));
        }
    }
    goals
}
