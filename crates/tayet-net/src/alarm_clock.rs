//! An alarm clock: one thread waits for it, and any may set it.

use std::io;
use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A timerfd: setting it wakes nobody, before it goes off.
#[derive(Debug)]
pub struct AlarmClock(OwnedFd);

impl AlarmClock {
    /// One that is not set.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }

    /// Has it go off `after` that time, and not when it was to before.
    pub fn set(&self, after: Duration) {
        // Nothing would unset it.
        let after = after.max(Duration::from_nanos(1));
        let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: seconds, tv_nsec: after.subsec_nanos().into() },
        };
        if let Err(error) = timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once) {
            tracing::error!(%error, "an alarm clock could not be set");
        }
    }

    /// Waits until it has gone off, be that before.
    pub fn wait(&self) {
        while rustix::io::read(&self.0, &mut [0_u8; 8]) == Err(Errno::INTR) {}
    }
}

impl AsFd for AlarmClock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn it_goes_off_when_it_was_set_to_last() {
        let clock = AlarmClock::new().unwrap();
        let start = Instant::now();
        clock.set(LONG);
        clock.set(Duration::from_millis(5));
        clock.wait();
        assert!(start.elapsed() >= Duration::from_millis(5) && start.elapsed() < LONG);
    }

    #[test]
    fn it_may_be_set_under_one_who_waits() {
        let clock = Arc::new(AlarmClock::new().unwrap());
        let waiting = std::thread::spawn({
            let clock = Arc::clone(&clock);
            move || clock.wait()
        });
        clock.set(LONG);
        clock.set(Duration::ZERO);
        waiting.join().unwrap();
    }
}
