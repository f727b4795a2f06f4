//! CPU time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// That of all threads of this process.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// That of the calling thread.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Burns CPU for about so long; gives how long it was.
pub fn burn(time: Duration) -> Duration {
    let start = thread_cpu();
    loop {
        let burned = thread_cpu() - start;
        if burned >= time {
            return burned;
        }
    }
}

fn read(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).expect("a clock that began at zero")
}
