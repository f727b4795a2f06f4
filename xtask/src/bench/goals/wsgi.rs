//! What is asked of WSGI applications.

use super::Demand::{AtLeast, AtMost};
use super::{Goal, Measured, goal};
use crate::bench::figure::Figure;
use crate::bench::scenario::Family;
use crate::bench::scenario::wsgi::{MULTI_THREADED, TAYET_WSGI};

/// Ahead of all in each, and smallest of those with threads.
pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for scenario in Family::Wsgi.scenarios() {
        let (name, title) = (scenario.name, scenario.title);
        let over = |figure, worse| measured.over_peers(name, TAYET_WSGI, figure, worse);
        let is_multi_threaded = |key: &str| MULTI_THREADED.iter().any(|contestant| contestant.key == key);
        goals.extend([
            goal(
                &format!("{title}: requests/s over the best peer"),
                over(Figure::RequestsPerSecond, f64::min as fn(f64, f64) -> f64),
                (2, AtLeast(1.0), None),
            ),
            goal(
                &format!("{title}: CPU a request over the best peer"),
                over(Figure::CpuUsPerRequest, f64::max),
                (2, AtMost(1.0), None),
            ),
            goal(
                &format!("{title}: PSS over the smallest peer with threads"),
                measured
                    .over_rows(name, TAYET_WSGI, Figure::PssMb, f64::max, |row| is_multi_threaded(&row.key)),
                (2, AtMost(1.0), None),
            ),
        ]);
    }
    goals
}
