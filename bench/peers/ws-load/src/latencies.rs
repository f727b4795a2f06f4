//! How long things took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// What takes longer counts as this.
const MAX_US: u64 = 60_000_000;
/// Digits that are kept of each latency.
const PRECISION: u8 = 3;

/// A collection of latencies, from which ranks can be read.
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Latencies {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_US, PRECISION);
        Self { histogram: histogram.expect("the bounds are in order") }
    }

    pub fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(MAX_US).max(1));
    }

    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the bounds are the same");
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency in microseconds that so many percent did not exceed.
    pub fn percentile_us(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_rank_over_all_that_was_added() {
        let (mut low, mut high) = (Latencies::new(), Latencies::new());
        (1..=50).for_each(|us| low.record(Duration::from_micros(us)));
        (51..=100).for_each(|us| high.record(Duration::from_micros(us)));
        low.add(&high);
        assert_eq!((low.count(), low.percentile_us(50.0), low.percentile_us(99.0)), (100, 50, 99));
    }

    #[test]
    fn what_takes_too_long_counts_as_the_most() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::from_secs(7200));
        assert!(latencies.percentile_us(100.0) >= MAX_US);
    }
}
