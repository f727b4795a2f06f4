//! How fast a body comes.

use crate::Limits;

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
    pub(crate) fn next_look_ms(&self, limits: &Limits) -> u64 {
        self.half_began_ms + half_ms(limits)
    }

    /// Looks; moves on by a half if that is over.
    pub(crate) fn look(&mut self, now_ms: u64, limits: &Limits) -> Pace {
        if now_ms >= self.next_look_ms(limits) {
            if let Some(previous) = self.previous_bytes {
                let window_ms = half_ms(limits) + now_ms - self.half_began_ms;
                let least = limits.min_receive_rate_bytes_per_second * window_ms / 1_000;
                if previous + self.current_bytes < least {
                    return Pace::TooSlow;
                }
            }
            self.previous_bytes = Some(self.current_bytes);
            self.current_bytes = 0;
            self.half_began_ms = now_ms;
        }
        Pace::Kept { next_look_ms: self.next_look_ms(limits) }
    }
}

fn half_ms(limits: &Limits) -> u64 {
    (limits.receive_rate_window_ms / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            min_receive_rate_bytes_per_second: 1_000,
            receive_rate_window_ms: 2_000,
            ..Limits::default()
        }
    }

    #[test]
    fn nothing_is_judged_before_a_whole_window() {
        let mut rate = RateWindow::new(0);
        assert_eq!(rate.look(1_000, &limits()), Pace::Kept { next_look_ms: 2_000 });
        assert_eq!(rate.look(2_000, &limits()), Pace::TooSlow);
    }

    #[test]
    fn a_burst_counts_for_the_whole_window() {
        let mut rate = RateWindow::new(0);
        rate.add(2_000);
        assert!(matches!(rate.look(1_000, &limits()), Pace::Kept { .. }));
        assert!(matches!(rate.look(2_000, &limits()), Pace::Kept { .. }));
        assert_eq!(rate.look(3_000, &limits()), Pace::TooSlow);
    }

    #[test]
    fn a_restart_gives_a_new_window() {
        let mut rate = RateWindow::new(0);
        rate.look(1_000, &limits());
        rate.restart(5_000);
        assert_eq!(rate.look(6_000, &limits()), Pace::Kept { next_look_ms: 7_000 });
    }
}
