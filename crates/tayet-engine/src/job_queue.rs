//! What waits for a thread of the pool, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use tayet_net::{Moment, prefetch};

use crate::RouteId;
use crate::turn_queue::{Precedence, TurnQueue};
use crate::worker::{Job, workers_for};

/// Jobs that have no thread yet. Those among them that take turns it counts, for all to see.
#[derive(Default)]
pub(crate) struct JobQueue {
    jobs: VecDeque<Job>,
    turns: Arc<TurnQueue>,
}

impl JobQueue {
    pub(crate) fn new(turns: Arc<TurnQueue>) -> Self {
        Self { jobs: VecDeque::new(), turns }
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether there is one that takes no turns.
    pub(crate) fn has_turnless(&self) -> bool {
        self.jobs.len() > self.turns.queued()
    }

    pub(crate) fn push(&mut self, job: Job) {
        self.turns.note_queued(usize::from(job.takes_turns()));
        self.jobs.push_back(job);
    }

    /// Takes all of these.
    pub(crate) fn append(&mut self, jobs: &mut Vec<Job>) {
        let in_turn = jobs.iter().filter(|job| job.takes_turns()).count();
        if in_turn > 0 {
            self.turns.note_queued(in_turn);
        }
        self.jobs.extend(jobs.drain(..));
    }

    /// Takes what has waited longest, but rather what takes no turns where threads enough wait for theirs. `None` as well if
    /// others come first, one of them waits for its turn, and there is nothing else.
    pub(crate) fn take(&mut self, precedence: Precedence) -> Option<Job> {
        let lets_others = precedence == Precedence::Others && self.turns.is_awaited();
        if !lets_others && self.turns.room() > 0 {
            return self.pop();
        }
        let turnless = || self.jobs.iter().position(|job| !job.takes_turns());
        let at = self.has_turnless().then(turnless).flatten();
        match at {
            // It takes no turns, and so is not among those that are counted.
            Some(at) => self.jobs.remove(at),
            None if lets_others => None,
            None => self.pop(),
        }
    }

    /// Takes what has waited longest, if it is a call of this route.
    pub(crate) fn take_call_of(&mut self, route: RouteId) -> Option<Job> {
        if self.jobs.front()?.calls(route) { self.pop() } else { None }
    }

    /// How many have waited since then or longer, without those for which threads wait already.
    pub(crate) fn overdue(&self, since: Moment) -> usize {
        let is_turn_awaited = self.turns.is_awaited();
        let overdue = self.jobs.iter().take_while(|job| job.queued_at() <= since);
        overdue.filter(|job| !(is_turn_awaited && job.takes_turns())).count()
    }

    /// How many workers it is all worth.
    pub(crate) fn workers(&mut self) -> usize {
        workers_for(self.jobs.make_contiguous(), self.turns.room())
    }

    fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        if job.takes_turns() {
            self.turns.note_taken();
        }
        if let Some(Job::Call(next)) = self.jobs.front() {
            // Another core has written it, and whoever runs it does so soon.
            prefetch(&*next.request);
        }
        Some(job)
    }
}

#[cfg(all(test, not(loom)))]
impl JobQueue {
    pub(crate) fn test_numbers(&self) -> Vec<usize> {
        self.jobs.iter().map(Job::test_number).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::turn_queue::MAX_AWAITED;
    use crate::worker::test_job;

    /// Numbered jobs; the even ones take turns.
    fn queue(count: usize) -> JobQueue {
        let mut queue = JobQueue::default();
        queue.append(&mut (0..count).map(|number| test_job(number, number % 2 == 0)).collect());
        queue
    }

    fn take(queue: &mut JobQueue) -> Option<usize> {
        queue.take(Precedence::Own).map(|job| job.test_number())
    }

    #[test]
    fn all_come_in_order_while_few_threads_wait_for_their_turn() {
        let mut queue = queue(4);
        (1..MAX_AWAITED).for_each(|_| queue.turns.begin_wait());
        let taken = std::iter::from_fn(|| take(&mut queue)).collect::<Vec<_>>();
        assert_eq!((taken, queue.turns.queued()), (vec![0, 1, 2, 3], 0));
    }

    #[test]
    fn where_threads_enough_wait_for_their_turn_other_work_comes_first() {
        let mut queue = queue(5);
        (0..MAX_AWAITED).for_each(|_| queue.turns.begin_wait());
        let taken = std::iter::from_fn(|| take(&mut queue)).collect::<Vec<_>>();
        assert_eq!((taken, queue.turns.queued()), (vec![1, 3, 0, 2, 4], 0));
    }

    #[test]
    fn who_lets_others_have_their_turn_leaves_those_calls_while_one_waits() {
        let mut queue = queue(3);
        let take = |queue: &mut JobQueue| queue.take(Precedence::Others).map(|job| job.test_number());
        queue.turns.begin_wait();
        assert_eq!([take(&mut queue), take(&mut queue)], [Some(1), None]);
        queue.turns.end_wait();
        assert_eq!([take(&mut queue), take(&mut queue), take(&mut queue)], [Some(0), Some(2), None]);
    }

    #[test]
    fn a_call_of_a_route_is_taken_if_it_is_next() {
        let mut queue = queue(2);
        assert!(queue.take_call_of(RouteId(1)).is_none());
        assert_eq!(queue.take_call_of(RouteId(0)).map(|job| job.test_number()), Some(0));
        assert_eq!(queue.turns.queued(), 0);
    }
}
