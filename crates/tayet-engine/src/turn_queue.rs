//! How many calls wait for their turn, with a thread and without.

use std::sync::atomic::{AtomicUsize, Ordering};

/// For so many threads that wait for their turn is it worth waking another one that will wait, too. With one alone, what they
/// wait for would lie unused while that one is woken.
pub(crate) const MAX_AWAITED: usize = 4;

/// Who comes first where calls take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Precedence {
    /// The thread that asks: it goes on with what has waited longest.
    Own,
    /// Those that wait for their turn: the thread has had its own for as long as it may.
    Others,
}

/// Calls that take turns: those under way whose threads wait, and those that have no thread yet.
///
/// A worker rests because another one waits, and that one wakes it because calls are queued: neither may miss what the other
/// has written before, so these orders are sequential.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue {
    awaited: AtomicUsize,
    queued: AtomicUsize,
}

impl TurnQueue {
    /// A thread of the pool begins to wait for its turn.
    pub(crate) fn begin_wait(&self) {
        self.awaited.fetch_add(1, Ordering::SeqCst);
    }

    /// It has got it. `true` if it is worth waking another for what is queued.
    pub(crate) fn end_wait(&self) -> bool {
        let others = self.awaited.fetch_sub(1, Ordering::SeqCst) - 1;
        others < MAX_AWAITED && self.queued() > 0
    }

    /// Whether a thread of the pool waits for its turn.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::SeqCst) > 0
    }

    /// For how many calls more it is worth waking a thread that can only wait.
    pub(crate) fn room(&self) -> usize {
        MAX_AWAITED.saturating_sub(self.awaited.load(Ordering::Relaxed))
    }

    /// So many calls more wait for a thread.
    pub(crate) fn note_queued(&self, calls: usize) {
        self.queued.fetch_add(calls, Ordering::SeqCst);
    }

    /// One of them has got its thread.
    pub(crate) fn note_taken(&self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many do.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::SeqCst)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_that_wait_and_a_turn_is_worth_a_wake_where_calls_are_queued() {
        let turns = TurnQueue::default();
        assert_eq!((turns.room(), turns.is_awaited()), (MAX_AWAITED, false));
        (0..=MAX_AWAITED).for_each(|_| turns.begin_wait());
        assert_eq!((turns.room(), turns.is_awaited()), (0, true));
        turns.note_queued(1);
        assert!(!turns.end_wait(), "others enough wait");
        assert!(turns.end_wait());
        turns.note_taken();
        assert!(!turns.end_wait(), "for what?");
        assert_eq!((turns.room(), turns.queued()), (2, 0));
    }
}
