//! Bounds on how many calls of a route run at the same time.

use std::collections::{BTreeMap, VecDeque};

use crate::RouteId;
use crate::worker::Job;

/// The bulkheads of all routes that have one. What waits behind them takes no thread.
#[derive(Debug, Default)]
pub(crate) struct Bulkheads {
    by_route: BTreeMap<RouteId, Bulkhead>,
    /// Behind all of them.
    waiting: usize,
}

#[derive(Debug)]
struct Bulkhead {
    most: usize,
    /// Calls that run, or are about to.
    admitted: usize,
    waiting: VecDeque<Job>,
}

impl Bulkheads {
    /// For these routes, each with the most calls that may run at the same time.
    pub(crate) fn new(limits: impl IntoIterator<Item = (RouteId, usize)>) -> Self {
        let bulkhead = |most| Bulkhead { most, admitted: 0, waiting: VecDeque::new() };
        Self {
            by_route: limits.into_iter().map(|(route, most)| (route, bulkhead(most))).collect(),
            waiting: 0,
        }
    }

    /// How many calls wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Leaves those in `jobs` that may be run; the others wait here, in their order.
    pub(crate) fn admit(&mut self, jobs: &mut Vec<Job>) {
        if !self.by_route.is_empty() {
            *jobs = jobs.drain(..).filter_map(|job| self.admit_one(job)).collect();
        }
    }

    /// A call of this route has come to its end: gives the one that may be run in its place.
    pub(crate) fn leave(&mut self, route: RouteId) -> Option<Job> {
        let bulkhead = self.by_route.get_mut(&route)?;
        let next = bulkhead.waiting.pop_front();
        match next {
            Some(_) => self.waiting -= 1,
            None => bulkhead.admitted -= 1,
        }
        next
    }

    fn admit_one(&mut self, job: Job) -> Option<Job> {
        let bulkhead = job.bulkhead().and_then(|route| self.by_route.get_mut(&route));
        let Some(bulkhead) = bulkhead else { return Some(job) };
        if bulkhead.admitted < bulkhead.most {
            bulkhead.admitted += 1;
            return Some(job);
        }
        bulkhead.waiting.push_back(job);
        self.waiting += 1;
        None
    }
}
