//! Waking a loop that waits.

use std::io;
use std::sync::Arc;

use crate::return_stack;

/// Something that ends a [`Driver::wait`](crate::Driver::wait) from another thread.
pub trait Wake: Send + Sync {
    /// Ends the wait under way, or the next one.
    fn wake(&self);
}

/// A shared handle to a loop's wake-up.
pub type Waker = Arc<dyn Wake>;

/// An eventfd, registered edge-triggered: each write is an edge, so nobody need ever read it empty.
#[derive(Debug)]
pub(crate) struct EventFd(rustix::fd::OwnedFd);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        use rustix::event::EventfdFlags;
        Ok(Self(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn fd(&self) -> &rustix::fd::OwnedFd {
        &self.0
    }
}

impl Wake for EventFd {
    fn wake(&self) {
        let written = rustix::io::write(&self.0, &1u64.to_ne_bytes());
        return_stack::refill();
        if written == Err(rustix::io::Errno::AGAIN) {
            // The counter is full after 2^64 - 2 unread wakes; empty it and count anew.
            let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
            let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
        }
    }
}
