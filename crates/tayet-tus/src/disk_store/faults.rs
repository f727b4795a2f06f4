//! File operations that fail, and programs that end between two of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

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
}

impl Default for Plan {
    fn default() -> Self {
        Self { left: AtomicI64::new(i64::MAX), mode: AtomicU8::new(ONCE) }
    }
}

const ONCE: u8 = 0;
const FOR_EVER: u8 = 1;

impl Faults {
    /// One operation fails, after `count` that do not.
    pub(super) fn fail_one_after(&self, count: usize) {
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
        // ENOSPC, by its number: the kind alone would not say that it came from the system.
        if strikes { Err(io::Error::from_raw_os_error(28)) } else { Ok(()) }
    }

    /// What a write that is about to strike still writes: a disk that is nearly full takes a part.
    pub(super) fn shorten<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let is_next = self.plan.left.load(Ordering::Relaxed) == 1;
        if is_next { &bytes[..bytes.len().div_ceil(2)] } else { bytes }
    }
}
