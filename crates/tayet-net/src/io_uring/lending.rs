//! Receiving that is left to others.

use rustix::io::Errno;

use super::IoUring;
use super::operation::Operation;
use crate::Token;

impl IoUring {
    /// Has the kernel receive nothing more from a connection. `false`, and it goes on, where something is still to be told of it, or the
    /// kernel has not let go of it yet.
    pub(super) fn stop_receiving(&mut self, token: Token) -> bool {
        if !self.drive_here() || self.is_to_rearm || self.ahead.untold().contains(&token) {
            return false;
        }
        let Some(slot) = self.slot_of(token) else { return false };
        if self.has_event_of(slot) {
            return false;
        }
        let Some(source) = self.source_in(slot) else { return false };
        if source.is_finished || source.holds_something() {
            return false;
        }
        if source.is_armed && !self.end_receiving(slot) {
            return false;
        }
        if let Some(source) = self.source_in(slot) {
            source.receiving = false;
        }
        true
    }

    /// Cancels the receiving that goes on. Gives whether it has ended by that, with nothing received.
    fn end_receiving(&mut self, slot: u32) -> bool {
        let behind = self.events.len();
        if let Some(source) = self.source_in(slot) {
            source.is_cancelled = true;
        }
        self.ring.cancel(Operation::Receive { slot });
        self.submit();
        let first =
            self.events.range(behind..).position(|event| event.operation == Operation::Receive { slot });
        let Some(position) = first.map(|position| behind + position) else { return false };
        if self.events[position].count() != Err(Errno::CANCELED) {
            return false;
        }
        self.events.remove(position);
        if let Some(source) = self.source_in(slot) {
            source.is_armed = false;
        }
        self.end_operation(slot);
        true
    }

    /// Whether the kernel has told something of a connection's receiving that was not looked at.
    fn has_event_of(&self, slot: u32) -> bool {
        self.events.iter().any(|event| event.operation == Operation::Receive { slot })
    }
}
