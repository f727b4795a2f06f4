//! How much a socket may say.

use std::time::{Duration, Instant};

/// Messages that a socket may send at once.
pub(super) const MAX_BURST_MESSAGES: u32 = 10;
/// One message more in this time.
pub(super) const MESSAGE_INTERVAL_MS: u64 = 500;
/// Messages in excess, one behind the other, after which it is closed.
pub(super) const MAX_EXCESS_MESSAGES: u32 = 50;

const INTERVAL: Duration = Duration::from_millis(MESSAGE_INTERVAL_MS);

/// A socket's allowance: full at first, and refilled by time.
#[derive(Debug)]
pub(super) struct Allowance {
    /// When it will be full again.
    full_at: Instant,
    excess: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Fine,
    TooFast,
    /// It goes on however often it is refused.
    Relentless,
}

impl Allowance {
    pub(super) fn new(now: Instant) -> Self {
        Self { full_at: now, excess: 0 }
    }

    /// Takes a message off.
    pub(super) fn take(&mut self, now: Instant) -> Pace {
        let full_at = self.full_at.max(now) + INTERVAL;
        if full_at <= now + INTERVAL * MAX_BURST_MESSAGES {
            self.full_at = full_at;
            self.excess = 0;
            return Pace::Fine;
        }
        self.excess += 1;
        if self.excess > MAX_EXCESS_MESSAGES { Pace::Relentless } else { Pace::TooFast }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_one_an_interval() {
        let mut now = Instant::now();
        let mut allowance = Allowance::new(now);
        for _ in 0..MAX_BURST_MESSAGES {
            assert_eq!(allowance.take(now), Pace::Fine);
        }
        assert_eq!(allowance.take(now), Pace::TooFast);
        now += INTERVAL;
        assert_eq!(allowance.take(now), Pace::Fine);
        assert_eq!(allowance.take(now), Pace::TooFast);
        now += INTERVAL * 100;
        for _ in 0..MAX_BURST_MESSAGES {
            assert_eq!(allowance.take(now), Pace::Fine);
        }
        assert_eq!(allowance.take(now), Pace::TooFast);
    }

    #[test]
    fn one_that_never_waits_is_told_apart() {
        let now = Instant::now();
        let mut allowance = Allowance::new(now);
        let mut paces = (0..MAX_BURST_MESSAGES + MAX_EXCESS_MESSAGES + 1).map(|_| allowance.take(now));
        assert_eq!(paces.by_ref().filter(|pace| *pace == Pace::Relentless).count(), 1);
        drop(paces);
        assert_eq!(allowance.take(now), Pace::Relentless);
        assert_eq!(allowance.take(now + INTERVAL), Pace::Fine);
    }
}
