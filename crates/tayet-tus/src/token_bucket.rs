//! Rates that are kept by waiting.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A rate in bytes a second, shared by whoever takes from it. What was not used is saved up for one second.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    bytes_per_second: f64,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    /// Below zero when more was taken than there was.
    bytes: f64,
    at: Instant,
}

impl TokenBucket {
    /// An empty one, so that making many of them gains nothing.
    pub(crate) fn new(bytes_per_second: u64, now: Instant) -> Self {
        Self { bytes_per_second: bytes_per_second as f64, level: Mutex::new(Level { bytes: 0.0, at: now }) }
    }

    /// Takes bytes out, and says how long to wait until they are due.
    pub(crate) fn take(&self, bytes: usize, now: Instant) -> Duration {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let flowed = now.saturating_duration_since(level.at).as_secs_f64() * self.bytes_per_second;
        level.bytes = (level.bytes + flowed).min(self.bytes_per_second) - bytes as f64;
        level.at = level.at.max(now);
        Duration::from_secs_f64((-level.bytes).max(0.0) / self.bytes_per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_taken_takes_its_time() {
        let start = Instant::now();
        let bucket = TokenBucket::new(1_000, start);
        assert_eq!(bucket.take(500, start), SECOND / 2);
        assert_eq!(bucket.take(500, start), SECOND, "two that take share the rate");
        assert_eq!(bucket.take(1_000, start + SECOND), SECOND);
    }

    #[test]
    fn no_more_than_a_second_is_saved_up() {
        let start = Instant::now();
        let bucket = TokenBucket::new(1_000, start);
        assert_eq!(bucket.take(1_000, start + 60 * SECOND), Duration::ZERO);
        assert_eq!(bucket.take(1_000, start + 60 * SECOND), SECOND);
    }
}
