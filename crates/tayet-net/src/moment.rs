//! Time that only goes forward, as a number: cheap to read, to subtract and to compare.

use std::time::Duration;

use crate::sys;

/// A moment of the monotonic clock.
///
/// [`std::time::Instant`] is the same in other clothes; its subtraction costs some sixty instructions, which a server
/// pays for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    ns: u64,
}

impl Moment {
    /// This one.
    pub fn now() -> Self {
        Self { ns: sys::monotonic_ns() }
    }

    /// So many nanoseconds after the clock's origin, for simulated clocks.
    pub fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the clock's origin.
    pub fn as_ns(self) -> u64 {
        self.ns
    }

    /// Milliseconds since the clock's origin.
    pub fn as_ms(self) -> u64 {
        self.ns / 1_000_000
    }

    /// How long after `earlier` it is; nothing if it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns_since(earlier))
    }

    /// The same in nanoseconds, for what counts them.
    pub fn ns_since(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self { ns: self.ns + duration.as_nanos() as u64 }
    }
}

impl std::ops::Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self { ns: self.ns.saturating_sub(duration.as_nanos() as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward() {
        let first = Moment::now();
        let second = Moment::now();
        assert!(second >= first);
        assert_eq!(first.since(second + Duration::from_secs(1)), Duration::ZERO);
    }

    #[test]
    fn units_agree() {
        let moment = Moment::from_ns(5_999_999);
        assert_eq!((moment.as_ns(), moment.as_ms()), (5_999_999, 5));
        assert_eq!((moment + Duration::from_nanos(1)).as_ms(), 6);
        assert_eq!((moment + Duration::from_micros(7)).since(moment), Duration::from_micros(7));
        assert_eq!((moment + Duration::from_micros(7)).ns_since(moment), 7_000);
        assert_eq!(moment - Duration::from_secs(1), Moment::from_ns(0));
    }
}
