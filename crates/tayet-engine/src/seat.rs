//! A thread's place in the pool.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Thread;

/// A thread's place in the pool.
pub(crate) struct Seat {
    pub(crate) thread: Thread,
    /// In one of the pool's lists of threads that wait; changed under the pool's lock.
    pub(crate) is_parked: AtomicBool,
}

impl Seat {
    /// For the calling thread.
    pub(crate) fn of_current() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), is_parked: AtomicBool::new(false) })
    }
}
