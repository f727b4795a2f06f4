//! Receiving that is left to others.

use rustix::io::Errno;

use super::IoUring;
use super::operation::Operation;
use crate::Token;

impl IoUring {
    /// Has the kernel receive nothing more from a connection. Where it has told what is still to be told of, or has not let go yet,
    /// this is `false`, and succeeds when it is tried again behind the last of that; if it is not, the receiving goes on.
    pub(super) fn stop_receiving(&mut self, token: Token) -> bool {
        if !self.drive_here() || self.is_to_rearm {
            return false;
        }
        let Some((slot, source)) = self.source(token) else { return false };
        if source.is_finished || source.holds_something() {
            return false;
        }
        if source.is_armed && !std::mem::replace(&mut source.is_cancelled, true) {
            self.ring.cancel(Operation::Receive { slot });
            self.submit();
        }
        if self.ahead.untold().contains(&token) || !self.take_end(slot) {
            return false;
        }
        if let Some(source) = self.source_in(slot) {
            source.receiving = false;
        }
        true
    }

    /// Looks at the end of a receiving that was cancelled, if it is what the kernel told next of the connection, or if there is none
    /// that goes on. Gives whether that is so.
    fn take_end(&mut self, slot: u32) -> bool {
        let next = self.events.iter().position(|event| event.operation == Operation::Receive { slot });
        let Some(source) = self.source_in(slot) else { return false };
        let Some(next) = next else { return !source.is_armed };
        if self.events[next].count() != Err(Errno::CANCELED) {
            return false;
        }
        self.events.remove(next);
        if let Some(source) = self.source_in(slot) {
            source.is_armed = false;
        }
        self.end_operation(slot);
        true
    }
}
