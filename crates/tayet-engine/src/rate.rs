//! How fast a body comes.

use std::time::Duration;

use tayet_net::Moment;

/// The rate below which a client is too slow, and the time over which that is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeastRate {
    pub(crate) bytes_per_second: u64,
    pub(crate) window_ms: u64,
}

impl LeastRate {
    fn half_ms(self) -> u64 {
        (self.window_ms / 2).max(1)
    }
}

/// Bytes received over a window that slides by halves.
#[derive(Debug)]
pub(crate) struct RateWindow {
    /// When the current half began.
    half_began_ms: u64,
    current_bytes: u64,
    /// Of the half before; `None` while there is none.
    previous_bytes: Option<u64>,
}

/// What a look at the window says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Fast enough; look again then.
    Kept {
        next_look_ms: u64,
    },
    TooSlow,
}

impl RateWindow {
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { half_began_ms: now_ms, current_bytes: 0, previous_bytes: None }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.current_bytes += bytes as u64;
    }

    /// Forgets what was: the server itself did not read for a while.
    pub(crate) fn restart(&mut self, now_ms: u64) {
        *self = Self::new(now_ms);
    }

    /// When to look first, or next.
    pub(crate) fn next_look_ms(&self, least: LeastRate) -> u64 {
        self.half_began_ms + least.half_ms()
    }

    /// Looks; moves on by a half if that is over.
    pub(crate) fn look(&mut self, now_ms: u64, least: LeastRate) -> Pace {
        if now_ms >= self.next_look_ms(least) {
            if let Some(previous) = self.previous_bytes {
                let window_ms = least.half_ms() + now_ms - self.half_began_ms;
                let least_bytes = least.bytes_per_second * window_ms / 1_000;
                if previous + self.current_bytes < least_bytes {
                    return Pace::TooSlow;
                }
            }
            self.previous_bytes = Some(self.current_bytes);
            self.current_bytes = 0;
            self.half_began_ms = now_ms;
        }
        Pace::Kept { next_look_ms: self.next_look_ms(least) }
    }
}

/// The rate of a body that its reader receives itself: of its time, only that counts in which it waits.
#[derive(Debug)]
pub(crate) struct WaitingRate {
    least: LeastRate,
    window: RateWindow,
    waited: Duration,
    /// Since when the reader waits, less what is in `waited` already.
    since: Option<Moment>,
}

impl WaitingRate {
    pub(crate) fn new(least: LeastRate) -> Self {
        Self { least, window: RateWindow::new(0), waited: Duration::ZERO, since: None }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// So much came.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.window.add(bytes);
    }

    /// The reader waits no more.
    pub(crate) fn stop(&mut self, now: Moment) {
        if let Some(since) = self.since.take() {
            self.waited += now.since(since);
        }
    }

    /// Looks, while the reader waits, or begins to. How long it may wait until the next look; `None` when the client is too slow.
    pub(crate) fn look(&mut self, now: Moment) -> Option<Duration> {
        self.stop(now);
        self.since = Some(now);
        let waited_ms = self.waited.as_millis() as u64;
        match self.window.look(waited_ms, self.least) {
            Pace::Kept { next_look_ms } => {
                Some(Duration::from_millis(next_look_ms).saturating_sub(self.waited))
            }
            Pace::TooSlow => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: LeastRate = LeastRate { bytes_per_second: 1_000, window_ms: 2_000 };

    #[test]
    fn nothing_is_judged_before_a_whole_window() {
        let mut rate = RateWindow::new(0);
        assert_eq!(rate.look(1_000, LEAST), Pace::Kept { next_look_ms: 2_000 });
        assert_eq!(rate.look(2_000, LEAST), Pace::TooSlow);
    }

    #[test]
    fn a_burst_counts_for_the_whole_window() {
        let mut rate = RateWindow::new(0);
        rate.add(2_000);
        assert!(matches!(rate.look(1_000, LEAST), Pace::Kept { .. }));
        assert!(matches!(rate.look(2_000, LEAST), Pace::Kept { .. }));
        assert_eq!(rate.look(3_000, LEAST), Pace::TooSlow);
    }

    #[test]
    fn a_restart_gives_a_new_window() {
        let mut rate = RateWindow::new(0);
        rate.look(1_000, LEAST);
        rate.restart(5_000);
        assert_eq!(rate.look(6_000, LEAST), Pace::Kept { next_look_ms: 7_000 });
    }

    #[test]
    fn a_reader_that_has_other_things_to_do_makes_no_client_slow() {
        let at = |ms: u64| Moment::from_ns(ms * 1_000_000);
        let mut rate = WaitingRate::new(LEAST);
        for round in 0..10 {
            assert!(rate.look(at(round * 10_000)).is_some());
            rate.stop(at(round * 10_000 + 100));
            rate.add(250);
        }
        assert_eq!(rate.look(at(100_000)), Some(Duration::from_secs(1)));
        assert_eq!(rate.look(at(101_000)), Some(Duration::from_secs(1)));
        assert_eq!(rate.look(at(102_000)), None);
    }
}
