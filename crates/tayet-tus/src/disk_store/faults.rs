//! File operations that fail, and programs that end between two of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, Ordering};

/// What goes wrong. By default, nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    /// Operations until the first that fails.
    left: AtomicI64,
    mode: AtomicU8,
    /// What the system says of those that fail.
    error: AtomicI32,
}

impl Default for Plan {
    fn default() -> Self {
        Self { left: AtomicI64::new(i64::MAX), mode: AtomicU8::new(ONCE), error: AtomicI32::new(ENOSPC) }
    }
}

/// No space left on the device.
const ENOSPC: i32 = 28;
/// The device failed.
const EIO: i32 = 5;
const ONCE: u8 = 0;
const FOR_EVER: u8 = 1;

impl Faults {
    /// One operation finds the disk full, after `count` that do not.
    pub(super) fn fill_up_after(&self, count: usize) {
        self.fail_one_after(count, ENOSPC);
    }

    /// One operation finds the disk broken, after `count` that do not.
    pub(super) fn break_after(&self, count: usize) {
        self.fail_one_after(count, EIO);
    }

    fn fail_one_after(&self, count: usize, error: i32) {
        self.plan.error.store(error, Ordering::Relaxed);
        self.plan.mode.store(ONCE, Ordering::Relaxed);
        self.plan.left.store(count as i64, Ordering::Relaxed);
    }

    /// All operations fail, after `count` that do not: what a crash leaves on the disk.
    pub(super) fn crash_after(&self, count: usize) {
        self.plan.mode.store(FOR_EVER, Ordering::Relaxed);
        self.plan.left.store(count as i64, Ordering::Relaxed);
    }

    /// Whether what was planned has happened.
    pub(super) fn have_struck(&self) -> bool {
        self.plan.left.load(Ordering::Relaxed) < 0
    }

    pub(super) fn step(&self) -> io::Result<()> {
        let left = self.plan.left.fetch_sub(1, Ordering::Relaxed);
        let strikes = left == 0 || (left < 0 && self.plan.mode.load(Ordering::Relaxed) == FOR_EVER);
        // By its number: the kind alone would not say that it came from the system.
        let error = self.plan.error.load(Ordering::Relaxed);
        if strikes { Err(io::Error::from_raw_os_error(error)) } else { Ok(()) }
    }

    /// What a write that is about to strike still writes: a disk that is nearly full takes a part.
    pub(super) fn shorten<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let is_next = self.plan.left.load(Ordering::Relaxed) == 1;
        if is_next { &bytes[..bytes.len().div_ceil(2)] } else { bytes }
    }
}
