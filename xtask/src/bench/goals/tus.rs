//! What is asked of resumable uploads.

use super::Demand::{AtLeast, AtMost};
use super::{Goal, Measured, goal};
use crate::bench::figure::Figure;
use crate::bench::scenario::tus::TAYET_UPLOADS;

const SCENARIOS: [(&str, &str); 4] = [
    ("tus-whole-1", "100 MiB at once, 1 upload at a time"),
    ("tus-whole-32", "100 MiB at once, 32 uploads"),
    ("tus-chunks-1", "100 MiB in chunks, 1 upload at a time"),
    ("tus-chunks-32", "100 MiB in chunks, 32 uploads"),
];

/// Against the best peer, in each.
pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (scenario, what) in SCENARIOS {
        let over = |figure, worse| measured.over_peers(scenario, TAYET_UPLOADS, figure, worse);
        goals.extend([
            goal(
                &format!("{what}: MiB/s over the best peer"),
                over(Figure::MibPerSecond, f64::min as fn(f64, f64) -> f64),
                (2, AtLeast(1.0), None),
            ),
            goal(
                &format!("{what}: CPU a GiB over the best peer"),
                over(Figure::CpuMsPerGib, f64::max),
                (2, AtMost(1.0), None),
            ),
            goal(
                &format!("{what}: peak RSS over the best peer"),
                over(Figure::PeakRssMb, f64::max),
                (2, AtMost(1.0), None),
            ),
        ]);
    }
    goals
}
