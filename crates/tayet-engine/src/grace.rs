//! The first part of draining, in which a loop still takes in what is on its way to it.

use std::sync::atomic::Ordering;

use crate::event_loop::Loop;

/// Looks at what has come before a draining loop closes its listeners, and then before it closes its idle connections,
/// however late it comes to them: the first accepts what stands in the queue, the others read what those have sent.
const DRAIN_LOOKS_TO_ACCEPT: u32 = 1;
const DRAIN_LOOKS_TO_READ: u32 = 2;

/// The first part of draining.
pub(crate) struct Grace {
    /// In its first half connections are accepted; those that come last have the second to say what they want.
    is_accepting: bool,
    /// When this half ends.
    until_ms: u64,
    /// Looks at what has come that are still to be taken, be it late.
    looks_left: u32,
}

impl Loop {
    /// From now on every answer is its connection's last. What has been sent to us already, be it on connections that wait
    /// to be accepted, or is on its way, is taken in first.
    pub(crate) fn drain(&mut self) {
        self.stop_at_ms = Some(self.now_ms + self.shared.limits.shutdown_deadline_ms);
        self.grace = Some(self.half_grace(true));
        self.home.is_draining.store(true, Ordering::Relaxed);
    }

    /// Behind the grace of a draining loop, those that wait for nothing are closed.
    pub(crate) fn end_grace(&mut self) {
        let now_ms = self.now_ms;
        let ended = self.grace.take_if(|grace| grace.looks_left == 0 && grace.until_ms <= now_ms);
        let Some(Grace { is_accepting, .. }) = ended else { return };
        if is_accepting {
            self.driver.stop_accepting();
            self.grace = Some(self.half_grace(false));
            return;
        }
        for token in self.connections.tokens() {
            if let Some(sessions) = self.sessions_of(token) {
                sessions.dismiss(self, token);
            }
            let Some(connection) = self.connections.get(token) else { continue };
            if connection.is_idle() {
                self.close(token);
            } else {
                // Its worker may be about to report lazily that the connection lives on.
                connection.peer.set_awaited(true);
            }
        }
    }

    /// One more look at what has come is taken.
    pub(crate) fn count_look(&mut self) {
        if let Some(grace) = &mut self.grace {
            grace.looks_left = grace.looks_left.saturating_sub(1);
        }
    }

    /// Whether it is draining and takes nothing more in.
    pub(crate) fn is_past_grace(&self) -> bool {
        self.stop_at_ms.is_some() && self.grace.is_none()
    }

    fn half_grace(&self, is_accepting: bool) -> Grace {
        let until_ms = self.now_ms + self.shared.limits.shutdown_grace_ms / 2;
        let looks_left = if is_accepting { DRAIN_LOOKS_TO_ACCEPT } else { DRAIN_LOOKS_TO_READ };
        Grace { is_accepting, until_ms, looks_left }
    }
}

impl Grace {
    /// When this half of it ends.
    pub(crate) fn until_ms(&self) -> u64 {
        self.until_ms
    }
}
