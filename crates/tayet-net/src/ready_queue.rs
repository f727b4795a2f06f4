//! What a driver has to do besides what the kernel tells.

use std::collections::VecDeque;

/// Connections with more to do than one turn allows, and completions that follow from operations.
#[derive(Debug)]
pub(crate) struct ReadyQueue<T> {
    queue: VecDeque<T>,
    /// How many, from the front, have their turn before the kernel is asked again: what is put behind them waits, so that a
    /// connection which always has more leaves others theirs.
    turns: usize,
}

impl<T> ReadyQueue<T> {
    pub(crate) fn new() -> Self {
        Self { queue: VecDeque::new(), turns: 0 }
    }

    /// Has something go on in the same turn.
    pub(crate) fn go_on_with(&mut self, ready: T) {
        self.queue.push_front(ready);
        self.turns += 1;
    }

    /// Has something go on in the next turn.
    pub(crate) fn put_behind(&mut self, ready: T) {
        self.queue.push_back(ready);
    }

    /// What has its turn now.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.turns = self.turns.checked_sub(1)?;
        self.queue.pop_front()
    }

    /// Whether something has its turn now.
    pub(crate) fn has_turn(&self) -> bool {
        self.turns > 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The kernel is about to be asked: all that is there now has its turn behind that.
    pub(crate) fn begin_turn(&mut self) {
        self.turns = self.queue.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_behind_waits_for_the_next_turn() {
        let mut ready = ReadyQueue::new();
        ready.put_behind(1);
        assert!(!ready.is_empty() && !ready.has_turn());
        assert_eq!(ready.take(), None);
        ready.begin_turn();
        ready.put_behind(3);
        ready.go_on_with(2);
        assert_eq!([ready.take(), ready.take(), ready.take()], [Some(2), Some(1), None]);
        ready.begin_turn();
        assert_eq!([ready.take(), ready.take()], [Some(3), None]);
        assert!(ready.is_empty());
    }
}
