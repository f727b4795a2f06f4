//! Sleep of the monitor: until a loop has something to do.

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock, wait};

/// One sleeper and many who may keep it awake. Those look at one shared flag and pay for more only if it sleeps.
#[derive(Debug)]
pub(crate) struct Doze {
    is_asleep: AtomicBool,
    bed: Mutex<()>,
    rung: Condvar,
}

impl Doze {
    pub(crate) fn new() -> Self {
        Self { is_asleep: AtomicBool::new(false), bed: Mutex::new(()), rung: Condvar::new() }
    }

    /// For others, after they have noted (with any ordering) what should keep the sleeper awake.
    pub(crate) fn rouse(&self) {
        // Either the sleeper, which looks behind its own fence, sees what was noted, or this sees that it sleeps.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            let _bed = lock(&self.bed);
            self.rung.notify_one();
        }
    }

    /// The sleeper's: sleeps as long as `may_sleep`, which is asked again after each [`Doze::rouse`].
    pub(crate) fn sleep_while(&self, may_sleep: impl Fn() -> bool) {
        let mut bed = lock(&self.bed);
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while may_sleep() {
            bed = wait(&self.rung, bed);
        }
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_sleeps_who_may_not() {
        Doze::new().sleep_while(|| false);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Two loops wake; the monitor, about to sleep, never sleeps through both. Loom fails the model if it does.
    #[test]
    fn loom_doze_misses_no_loop() {
        loom::model(|| {
            let doze = Arc::new(Doze::new());
            let awake = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let loops = [0, 1].map(|index| {
                let (doze, awake) = (Arc::clone(&doze), Arc::clone(&awake));
                thread::spawn(move || {
                    awake[index].store(true, Ordering::Relaxed);
                    doze.rouse();
                })
            });
            doze.sleep_while(|| !awake.iter().all(|awake| awake.load(Ordering::Relaxed)));
            for thread in loops {
                thread.join().unwrap();
            }
        });
    }
}
