//! One publication after the other, each to all sockets.

use std::time::Duration;

use crate::clock::Moment;
use crate::control::{Event, await_start};
use crate::latencies::Latencies;
use crate::opening::Target;
use crate::publication::Publications;

/// Opens the sockets and, when told to start, publishes for `duration`.
pub fn run(target: &Target, duration: Duration) -> anyhow::Result<()> {
    let mut sockets = target.open()?;
    await_start()?;
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
    let delivered = Event::Delivered {
        deliveries: latencies.count() * sockets.len() as u64,
        seconds: now.since(start).as_secs_f64(),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
    };
    delivered.print()
}
