//! When the monitor looks next.
//!
//! A thread that wakes each few milliseconds to find that all is well takes cores from those that do the work. So whoever does
//! some puts the monitor's alarm off while it goes on, as one who passes a dead man's switch: the monitor wakes when nobody has
//! done so in time.

use std::time::Duration;

use tayet_net::{AlarmClock, Moment};

use crate::sync::{AtomicU64, Ordering, fence};

/// An alarm that any thread may set, for one that waits.
#[derive(Debug)]
pub(crate) struct Alarm<B = AlarmClock> {
    /// When it goes off, or has, in nanoseconds; [`UNSET`] when nobody has set it since.
    due_ns: AtomicU64,
    bell: B,
}

const UNSET: u64 = 0;

/// What an alarm is made of.
pub(crate) trait Bell {
    fn set(&self, after: Duration);
    fn wait(&self);
}

impl<B: Bell> Alarm<B> {
    pub(crate) fn new(bell: B) -> Self {
        Self { due_ns: AtomicU64::new(UNSET), bell }
    }

    /// Sees to it that the alarm goes off within that time, for those who have noted (with any ordering) why it must.
    pub(crate) fn ensure(&self, now: Moment, within: Duration) {
        // Either the one who unsets it, and looks behind its own fence, sees what was noted, or this sees that it is unset.
        fence(Ordering::SeqCst);
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        if due_ns == UNSET || due_ns > (now + within).as_ns() {
            self.set(now, within);
        }
    }

    /// Has it go off after that time, be it later than it was to.
    pub(crate) fn set(&self, now: Moment, after: Duration) {
        // Once this is noted the bell is always set: others rely on that.
        self.due_ns.store((now + after).as_ns(), Ordering::Relaxed);
        self.bell.set(after);
    }

    /// Whether it is set, to go off later than that.
    pub(crate) fn is_due_after(&self, moment: Moment) -> bool {
        self.due_ns.load(Ordering::Relaxed) > moment.as_ns()
    }

    /// Unsets it unless it is needed, which is asked when others can see that it is unset.
    pub(crate) fn unset_unless(&self, is_needed: impl FnOnce() -> bool) -> bool {
        self.due_ns.store(UNSET, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !is_needed()
    }

    /// Waits until it goes off.
    pub(crate) fn wait(&self) {
        self.bell.wait();
    }
}

impl Bell for AlarmClock {
    fn set(&self, after: Duration) {
        self.set(after);
    }

    fn wait(&self) {
        self.wait();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Notes how it was set.
    #[derive(Default)]
    struct Noting(Mutex<Vec<Duration>>);

    impl Bell for Noting {
        fn set(&self, after: Duration) {
            self.0.lock().unwrap().push(after);
        }

        fn wait(&self) {}
    }

    fn at_ms(ms: u64) -> Moment {
        Moment::from_ns(ms * 1_000_000)
    }

    #[test]
    fn it_is_set_where_it_would_go_off_too_late_or_never() {
        let alarm = Alarm::new(Noting::default());
        alarm.ensure(at_ms(1), 4 * MS);
        alarm.ensure(at_ms(2), 4 * MS);
        alarm.ensure(at_ms(2), 2 * MS);
        assert!(alarm.unset_unless(|| false));
        alarm.ensure(at_ms(3), 4 * MS);
        assert_eq!(*alarm.bell.0.lock().unwrap(), [4 * MS, 2 * MS, 4 * MS]);
    }

    #[test]
    fn it_is_put_off() {
        let alarm = Alarm::new(Noting::default());
        assert!(!alarm.is_due_after(at_ms(0)));
        alarm.set(at_ms(1), MS);
        alarm.set(at_ms(1), 4 * MS);
        alarm.ensure(at_ms(1), 4 * MS);
        assert!(alarm.is_due_after(at_ms(4)) && !alarm.is_due_after(at_ms(5)));
        assert_eq!(*alarm.bell.0.lock().unwrap(), [MS, 4 * MS]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::{AtomicBool, Condvar, Mutex, lock, wait};

    /// Rings as soon as it is set.
    #[derive(Default)]
    struct Immediate {
        is_set: Mutex<bool>,
        rung: Condvar,
    }

    impl Bell for Immediate {
        fn set(&self, _: Duration) {
            *lock(&self.is_set) = true;
            self.rung.notify_one();
        }

        fn wait(&self) {
            let mut is_set = lock(&self.is_set);
            while !*is_set {
                is_set = wait(&self.rung, is_set);
            }
            *is_set = false;
        }
    }

    /// Two loops wake; the monitor, which finds nothing to do and unsets its alarm, never waits through both. Loom fails the
    /// model if it does.
    #[test]
    fn loom_alarm_misses_no_loop() {
        loom::model(|| {
            let alarm = Arc::new(Alarm::new(Immediate::default()));
            let awake = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let (now, soon) = (Moment::from_ns(1), Duration::from_millis(1));
            let loops = [0, 1].map(|index| {
                let (alarm, awake) = (Arc::clone(&alarm), Arc::clone(&awake));
                thread::spawn(move || {
                    awake[index].store(true, Ordering::Relaxed);
                    alarm.ensure(now, soon);
                })
            });
            let is_awake = |index: usize| awake[index].load(Ordering::Relaxed);
            while !(is_awake(0) && is_awake(1)) {
                if alarm.unset_unless(|| is_awake(0) && is_awake(1)) {
                    alarm.wait();
                }
            }
            for thread in loops {
                thread.join().unwrap();
            }
        });
    }
}
