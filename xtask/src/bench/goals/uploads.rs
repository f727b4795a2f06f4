//! What is asked of uploads that a handler drops.

use super::Demand::{AtLeast, AtMost};
use super::{Goal, Measured, goal};
use crate::bench::contestant::TAYET;
use crate::bench::figure::Figure;
use crate::bench::upload::MIB;

const MAX_PEAK_RSS_MIB: u64 = 350;

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (connections, scenario) in [(32, "upload-32"), (256, "upload-256")] {
        goals.extend([
            goal(
                &format!("bodies of 20 MiB, {connections} connections: MiB/s over the best peer"),
                measured.over_peers(scenario, TAYET, Figure::MibPerSecond, f64::min),
                (2, AtLeast(1.0), None),
            ),
            goal(
                &format!("bodies of 20 MiB, {connections} connections: CPU a GiB over the best peer"),
                measured.over_peers(scenario, TAYET, Figure::CpuMsPerGib, f64::max),
                (2, AtMost(1.0), None),
            ),
        ]);
    }
    goals.push(goal(
        &format!("bodies of 20 MiB, 256 connections: peak RSS MB ({MAX_PEAK_RSS_MIB} MiB)"),
        measured.median("upload-256", TAYET, Figure::PeakRssMb),
        (1, AtMost((MAX_PEAK_RSS_MIB * MIB) as f64 / 1e6), None),
    ));
    goals
}
