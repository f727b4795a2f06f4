//! A loop that changes its thread.
//!
//! The kernel does a ring's work only when the one thread that it is of enters it (`SINGLE_ISSUER`, `DEFER_TASKRUN`), some 20 sockets at
//! a time: so what is received is answered while it is still in the processor's caches. It follows that the ring of a thread that is left
//! behind in a handler does nothing. Whoever drives then looks at what it had told, closes it, and has another ([`Ring::renew`]), in
//! which all that goes on by itself is armed anew. No byte can be lost or come twice, since what was not told
//! was not received.
//!
//! The handler is interrupted once, since the kernel interrupts those who have used a ring when it is closed.
//!
//! Listeners are watched, and not accepted from by the ring: of those who accept, the kernel wakes but one, and that might be the ring
//! that does nothing; and who the peer is would take a call all the same.

use std::thread;
use std::time::Duration;

use rustix::fd::AsFd;

use super::operation::Operation;
use super::sys::SUBMISSIONS;
use super::{IoUring, Received, Unavailable};

/// Between two tries to have a ring, where none was to be had.
pub(super) const RING_RETRY: Duration = Duration::from_millis(10);

impl IoUring {
    /// Makes sure that the ring is this thread's. Gives whether it is: another may not be to be had.
    pub(super) fn drive_here(&mut self) -> bool {
        let thread = thread::current().id();
        if self.thread == Some(thread) && self.ring.is_open() {
            return true;
        }
        let result = match self.thread.replace(thread) {
            None => self.ring.enable().map_err(Unavailable::Other),
            Some(_) => self.renew_ring(),
        };
        match &result {
            Err(unavailable) if !self.lacks_ring => {
                tracing::error!(%unavailable, "a loop has no ring, and tries again and again to have one");
            }
            Ok(()) if self.lacks_ring => tracing::info!("a loop has a ring again"),
            _ => {}
        }
        self.lacks_ring = result.is_err();
        !self.lacks_ring
    }

    fn renew_ring(&mut self) -> Result<(), Unavailable> {
        self.withheld.clear();
        let in_hand = match &self.received {
            Received::Buffer(filled) => Some(filled),
            Received::Nothing | Received::Held(_) => None,
        };
        self.is_to_rearm = true;
        self.ring.renew(&mut self.events, self.ahead.filled().chain(in_hand))?;
        self.epoch = self.epoch.next();
        self.ring.watch(self.wake.fd().as_fd(), Operation::Wake(self.epoch));
        (0..self.listeners.len() as u32).for_each(|position| self.watch_listener(position));
        Ok(())
    }

    /// Arms anew all that goes on by itself. Of what the earlier ring told, all has been looked at.
    ///
    /// All at once: if threads changed faster than a part of them follows the other, the last would never have their turn.
    #[cold]
    pub(super) fn rearm_all(&mut self) {
        self.is_to_rearm = false;
        for slot in 0..self.sources.len() as u32 {
            self.rearm(slot);
            if slot % SUBMISSIONS == SUBMISSIONS - 1 {
                self.submit();
            }
        }
    }

    fn rearm(&mut self, slot: u32) {
        let Some(source) = self.source_in(slot) else { return };
        source.forget_operations();
        if source.waits_for_room() {
            self.await_room(slot);
        }
        self.arm(slot);
        self.close_if_over(slot);
    }
}

#[cfg(test)]
mod tests;
