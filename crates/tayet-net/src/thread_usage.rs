//! What a thread has had of the machine.

use std::time::Duration;

use crate::sys;

/// What the calling thread has used since it began, or between two readings.
///
/// Unlike the time on the clock it leaves out how long the thread had to wait for a core. A reading costs two system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time.
    pub cpu: Duration,
    /// How often it gave up its core to wait for something: data, a lock, a time.
    pub waits: u64,
}

impl ThreadUsage {
    /// Of the calling thread, until now.
    pub fn of_current() -> Self {
        Self { cpu: Self::cpu_of_current(), waits: sys::voluntary_switches() }
    }

    /// The CPU time alone, which costs one system call.
    pub fn cpu_of_current() -> Duration {
        Duration::from_nanos(sys::thread_cpu_ns())
    }

    /// What was used after an earlier reading by the same thread.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(earlier.cpu), waits: self.waits.saturating_sub(earlier.waits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_takes_time_and_sleeping_is_a_wait() {
        let start = ThreadUsage::of_current();
        let mut computed = start;
        while computed.since(start).cpu < Duration::from_millis(2) {
            computed = ThreadUsage::of_current();
        }
        std::thread::sleep(Duration::from_millis(1));
        let slept = ThreadUsage::of_current().since(computed);
        assert!(slept.waits >= 1);
        assert!(slept.cpu < computed.since(start).cpu, "sleeping takes next to none");
    }
}
