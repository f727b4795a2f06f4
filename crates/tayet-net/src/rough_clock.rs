//! A clock for whoever reads it again and again.

use crate::{Moment, sys};

/// How far the processor's own counter must have come before the system's clock is read again: some 5 µs where it counts
/// 3 GHz, and no more than 16 where it counts one.
const MAX_TICKS: u64 = 16_384;

/// The monotonic clock, read anew only when the processor's counter has gone on by more than a little, since to read that is
/// quicker.
///
/// Nothing needs to be known of the counter, neither how fast it is nor whether cores agree on it: it only tells that little
/// has happened. If it jumps, in either direction, the clock is read. A processor without one, or one that this crate does not
/// know, has the clock read each time.
#[derive(Debug)]
pub(crate) struct RoughClock {
    told: Moment,
    /// What the counter was at that moment, if it was told roughly.
    ticks: Option<u64>,
}

impl RoughClock {
    pub(crate) fn new() -> Self {
        Self { told: Moment::now(), ticks: None }
    }

    /// What it was when somebody asked last.
    pub(crate) fn told(&self) -> Moment {
        self.told
    }

    /// What it is now.
    pub(crate) fn now(&mut self) -> Moment {
        // To read the counter takes half as long again: it is read only for those who ask for rough times.
        self.ticks = None;
        self.told = Moment::now();
        self.told
    }

    /// What it was a few microseconds ago at the most. Never before what this clock has told already.
    #[inline]
    pub(crate) fn now_roughly(&mut self) -> Moment {
        let ticks = sys::ticks();
        match (self.ticks, ticks) {
            (Some(earlier), Some(ticks)) if is_near(earlier, ticks) => self.told,
            _ => self.read(ticks),
        }
    }

    #[inline(never)]
    fn read(&mut self, ticks: Option<u64>) -> Moment {
        self.told = Moment::now();
        self.ticks = ticks;
        self.told
    }
}

fn is_near(earlier: u64, ticks: u64) -> bool {
    ticks.wrapping_sub(earlier) < MAX_TICKS
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reading_is_used_again_until_the_counter_has_gone_on() {
        assert!(is_near(100, 100));
        assert!(is_near(100, 99 + MAX_TICKS));
        assert!(!is_near(100, 100 + MAX_TICKS));
        assert!(is_near(u64::MAX, 5), "the counter wraps round");
    }

    #[test]
    fn a_counter_that_goes_back_has_the_clock_read() {
        assert!(!is_near(100, 99));
    }

    #[test]
    fn time_goes_forward_however_it_is_read() {
        let mut clock = RoughClock::new();
        let mut last = clock.now();
        for round in 0..10_000 {
            let next = if round % 3 == 0 { clock.now() } else { clock.now_roughly() };
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn a_rough_reading_is_not_old() {
        let mut clock = RoughClock::new();
        let before = clock.now();
        // Of a counter of 1 MHz even it is more than what a reading is used for.
        std::thread::sleep(Duration::from_millis(20));
        assert!(clock.now_roughly().since(before) >= Duration::from_millis(20));
    }

    #[test]
    fn without_a_counter_each_reading_is_new() {
        let mut clock = RoughClock::new();
        clock.read(None);
        assert!(clock.ticks.is_none());
    }
}
