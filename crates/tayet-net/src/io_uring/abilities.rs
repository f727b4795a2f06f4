//! What the kernel's io_uring must be able to do for the driver.

use io_uring::opcode;

/// Operations that the driver submits, and what a kernel lacks that does not know them.
const OPERATIONS: [(u8, &str); 6] = [
    (opcode::PollAdd::CODE, "watching of sockets"),
    (opcode::SendMsg::CODE, "sending of two parts"),
    (opcode::AsyncCancel::CODE, "cancelling"),
    (opcode::Send::CODE, "sending"),
    (opcode::Recv::CODE, "receiving"),
    // Receiving in many shots has no sign of its own; it came with this operation, in Linux 6.0.
    (opcode::SendZc::CODE, "receiving in many shots"),
];

/// What a ring says that it can do.
pub(super) struct Abilities<'a> {
    pub(super) waits_with_timeout: bool,
    pub(super) keeps_completions: bool,
    pub(super) knows_operation: &'a dyn Fn(u8) -> bool,
}

impl Abilities<'_> {
    /// The first that is missing of what the driver needs.
    pub(super) fn missing(&self) -> Option<&'static str> {
        if !self.keeps_completions {
            return Some("keeping of completions that found no room");
        }
        if !self.waits_with_timeout {
            return Some("waiting with a time-out");
        }
        let unknown = OPERATIONS.iter().find(|(code, _)| !(self.knows_operation)(*code));
        unknown.map(|(_, what)| *what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Abilities<'_> =
        Abilities { waits_with_timeout: true, keeps_completions: true, knows_operation: &|_| true };

    #[test]
    fn a_ring_that_can_all_lacks_nothing() {
        assert_eq!(ALL.missing(), None);
    }

    #[test]
    fn each_operation_is_missed() {
        for (absent, what) in OPERATIONS {
            let knows_operation = &|code| code != absent;
            assert_eq!(Abilities { knows_operation, ..ALL }.missing(), Some(what));
        }
    }

    #[test]
    fn each_way_of_waiting_is_missed() {
        let forgetful = Abilities { keeps_completions: false, ..ALL };
        assert_eq!(forgetful.missing(), Some("keeping of completions that found no room"));
        let patient = Abilities { waits_with_timeout: false, ..ALL };
        assert_eq!(patient.missing(), Some("waiting with a time-out"));
    }
}
