//! What is asked of servers in front of MongoDB.

use super::Demand::AtMost;
use super::{Goal, Measured, goal};
use crate::bench::figure::Figure;
use crate::bench::scenario::mongo::{TAYET, TAYET_RETURNED};

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (scenario, what) in [
        ("mongo-hello-10", "hello, 10 connections"),
        ("mongo-hello-150", "hello, 150 connections"),
        ("mongo-json-10", "office as JSON, 10 connections"),
        ("mongo-json-150", "office as JSON, 150 connections"),
    ] {
        goals.push(goal(
            &format!("{what}: peak RSS MB"),
            measured.median(scenario, TAYET, Figure::PeakRssMb),
            (1, AtMost(8.0), None),
        ));
    }
    for (scenario, contestant, what) in [
        ("mongo-office-10", TAYET, "office out of MongoDB, 10 connections"),
        ("mongo-office-150", TAYET, "office out of MongoDB, 150 connections"),
        ("mongo-office-10", TAYET_RETURNED, "the same, query returned, 10 connections"),
        ("mongo-office-150", TAYET_RETURNED, "the same, query returned, 150 connections"),
    ] {
        let over = |figure| measured.over_peers(scenario, contestant, figure, f64::max);
        goals.extend([
            goal(
                &format!("{what}: CPU a request over the best peer"),
                over(Figure::CpuUsPerRequest),
                (2, AtMost(1.0), None),
            ),
            goal(
                &format!("{what}: peak RSS over the best peer"),
                over(Figure::PeakRssMb),
                (2, AtMost(1.0), None),
            ),
        ]);
    }
    goals
}
