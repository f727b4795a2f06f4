//! One publication after the other, each to all sockets.

use std::time::Duration;

use serde::Serialize;

use crate::clock::Moment;
use crate::latencies::Latencies;
use crate::opening::Target;
use crate::publication::Publications;

#[derive(Serialize)]
pub struct Report {
    deliveries: u64,
    seconds: f64,
    /// From a publication to its last receipt.
    p50_us: u64,
    p99_us: u64,
    max_us: u64,
    /// Not counted above, nor in the seconds.
    open_seconds: f64,
}

/// Opens the sockets, publishes for `duration`, and ends.
pub fn run(target: &Target, duration: Duration) -> anyhow::Result<Report> {
    let opening = Moment::now();
    let mut sockets = target.open()?;
    let start = Moment::now();
    let end = start.after(duration);
    let mut publications = Publications::new(sockets.len());
    let mut latencies = Latencies::new();
    let mut now = start;
    while now < end {
        let delivered = publications.publish(&mut sockets)?;
        now = delivered.last_receipt;
        latencies.record(now.since(delivered.published));
    }
    Ok(Report {
        deliveries: latencies.count() * sockets.len() as u64,
        seconds: now.since(start).as_secs_f64(),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
        max_us: latencies.percentile_us(100.0),
        open_seconds: start.since(opening).as_secs_f64(),
    })
}
