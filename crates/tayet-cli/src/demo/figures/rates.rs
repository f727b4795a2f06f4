//! What happened between two readings of the server's counters.

use std::time::{Duration, Instant};

use serde::Serialize;
use tayet::{Histogram, RouteMetrics};

/// The counters of all routes at one moment.
#[derive(Debug)]
pub(super) struct Reading {
    at: Instant,
    durations: Durations,
}

/// How many requests took how long, by the bounds of [`Histogram`], and all together.
#[derive(Debug, Default)]
struct Durations {
    counts: Vec<u64>,
    sum: Duration,
}

/// Rates over the time between two readings. There is no quantile where there was no request.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Rates {
    requests_per_s: f64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
}

impl Reading {
    pub(super) fn of(routes: &[RouteMetrics]) -> Self {
        let mut counts = vec![0; Histogram::BOUNDS_NS.len() + 1];
        for route in routes {
            for (sum, count) in counts.iter_mut().zip(&route.duration.counts) {
                *sum += count;
            }
        }
        let sum = routes.iter().map(|route| route.duration.sum).sum();
        Self { at: Instant::now(), durations: Durations { counts, sum } }
    }

    /// What came after an earlier reading.
    pub(super) fn since(&self, before: &Self) -> Rates {
        let durations = self.durations.since(&before.durations);
        let elapsed = self.at.saturating_duration_since(before.at).max(Duration::from_millis(1));
        Rates {
            requests_per_s: durations.total() as f64 / elapsed.as_secs_f64(),
            p50_us: durations.quantile_us(0.5),
            p99_us: durations.quantile_us(0.99),
        }
    }
}

impl Durations {
    fn since(&self, before: &Self) -> Self {
        let newer = |(now, then): (&u64, &u64)| now.saturating_sub(*then);
        Self {
            counts: self.counts.iter().zip(&before.counts).map(newer).collect(),
            sum: self.sum.saturating_sub(before.sum),
        }
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The duration that this share of all falls below, in microseconds, taken as spread evenly within each bucket.
    fn quantile_us(&self, share: f64) -> Option<f64> {
        let highest = self.counts.iter().rposition(|count| *count > 0)?;
        let mut wanted = self.total() as f64 * share;
        for (bucket, &count) in self.counts[..highest].iter().enumerate() {
            if count > 0 && wanted <= count as f64 {
                let (lower, upper) = bounds_us(bucket);
                return Some(lower + (upper - lower) * wanted / count as f64);
            }
            wanted -= count as f64;
        }
        let (lower, end) = (bounds_us(highest).0, self.end_us(highest));
        Some(lower + (end - lower) * wanted / self.counts[highest] as f64)
    }

    /// Where the highest bucket in use ends: as far behind its mean as its beginning is before it. The mean is what the
    /// lower ones leave of the sum; without it, half a second would look like anything up to one.
    fn end_us(&self, highest: usize) -> f64 {
        let (lower, upper) = bounds_us(highest);
        let middle = |bucket| f64::midpoint(bounds_us(bucket).0, bounds_us(bucket).1);
        let below: f64 = (0..highest).map(|bucket| self.counts[bucket] as f64 * middle(bucket)).sum();
        let mean = (self.sum.as_secs_f64() * 1e6 - below) / self.counts[highest] as f64;
        (2.0 * mean - lower).clamp(lower, upper)
    }
}

/// Where a bucket begins and ends, in microseconds; the last one has no end.
fn bounds_us(bucket: usize) -> (f64, f64) {
    let bound = |bucket: usize| Histogram::BOUNDS_NS.get(bucket).map(|ns| *ns as f64 / 1e3);
    let lower = bucket.checked_sub(1).and_then(bound).unwrap_or(0.0);
    (lower, bound(bucket).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: usize = Histogram::BOUNDS_NS.len();

    fn durations(filled: &[(usize, u64)], sum_us: u64) -> Durations {
        let mut counts = vec![0; LAST + 1];
        filled.iter().for_each(|(bucket, count)| counts[*bucket] = *count);
        Durations { counts, sum: Duration::from_micros(sum_us) }
    }

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        for (filled, sum_us, share, expected) in [
            (&[][..], 0, 0.5, None),
            (&[(0, 100)], 500, 0.5, Some(5.0)),
            (&[(1, 1)], 25, 1.0, Some(25.0)),
            (&[(0, 98), (3, 2)], 98 * 5 + 2 * 75, 0.49, Some(5.0)),
            (&[(0, 98), (3, 2)], 98 * 5 + 2 * 75, 0.99, Some(75.0)),
        ] {
            assert_eq!(durations(filled, sum_us).quantile_us(share), expected, "{filled:?} {share}");
        }
    }

    #[test]
    fn the_highest_bucket_is_as_wide_as_its_mean_says() {
        let half_a_second = |sum_us| durations(&[(15, 10)], sum_us).quantile_us(0.5);
        assert_eq!(half_a_second(5_010_000), Some(501_000.0));
        assert_eq!(half_a_second(1), Some(500_000.0), "no less than its lower bound");
        assert_eq!(half_a_second(u64::MAX / 2), Some(750_000.0), "no more than its upper bound");
        assert_eq!(durations(&[(LAST, 1)], 12_000_000).quantile_us(0.5), Some(12_000_000.0));
    }

    #[test]
    fn rates_are_of_what_came_since() {
        let at = Instant::now();
        let before = Reading { at, durations: durations(&[(0, 100)], 500) };
        let after =
            Reading { at: at + Duration::from_secs(2), durations: durations(&[(0, 100), (1, 4)], 570) };
        let rates = Rates { requests_per_s: 2.0, p50_us: Some(17.5), p99_us: Some(24.85) };
        assert_eq!(after.since(&before), rates);
        let nothing = Rates { requests_per_s: 0.0, p50_us: None, p99_us: None };
        assert_eq!(before.since(&before), nothing);
    }
}
