//! Between which calls of handlers the clock is read.

use tayet_net::Moment;

use crate::RouteId;

/// Calls at most whose ends go by unclocked, one behind the other.
const MAX_UNCLOCKED: u32 = 3;

/// What the calls between two readings, one to four, take together for the next ones to go by. 4 µs.
const QUICK_NS: u64 = 4_000;

/// Decides for which calls the clock is read, among those that come together: for each, or for every fourth while they are quick.
/// To read the processor's counter takes longer than much of what a request needs.
///
/// Only calls of one route go by together, so that nobody is charged with what a call of another route has taken; among calls of the
/// same route the last is charged with what all have.
#[derive(Debug)]
pub(crate) struct CallClock {
    /// Whose call was clocked last.
    route: RouteId,
    is_quick: bool,
    /// Calls since.
    unclocked: u32,
}

impl CallClock {
    pub(crate) fn new() -> Self {
        Self { route: RouteId(0), is_quick: false, unclocked: 0 }
    }

    /// Whether a call of this route can begin only when the clock has been read, for those that went by.
    #[inline]
    pub(crate) fn is_due_before(&self, route: RouteId) -> bool {
        self.unclocked > 0 && self.route != route
    }

    /// A call of this route has ended, and others are at hand: whether the clock is to be read.
    #[inline]
    pub(crate) fn is_due_behind(&mut self, route: RouteId) -> bool {
        let goes_by = self.is_quick && self.unclocked < MAX_UNCLOCKED && self.route == route;
        self.unclocked += u32::from(goes_by);
        !goes_by
    }

    /// The clock was read for those that went by.
    pub(crate) fn clock_others(&mut self, earlier: Moment, now: Moment) {
        self.clocked(self.route, earlier, now);
    }

    /// The clock was read behind a call of this route, at `now`, and before that at `earlier`.
    #[inline]
    pub(crate) fn clocked(&mut self, route: RouteId, earlier: Moment, now: Moment) {
        self.route = route;
        self.is_quick = now.ns_since(earlier) < QUICK_NS;
        self.unclocked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: RouteId = RouteId(3);
    const OTHER: RouteId = RouteId(4);

    fn at(ns: u64) -> Moment {
        Moment::from_ns(ns)
    }

    /// After a call that was clocked and took so long.
    fn behind_call_of(ns: u64) -> CallClock {
        let mut clock = CallClock::new();
        assert!(clock.is_due_behind(ROUTE), "of the first nothing is known");
        clock.clocked(ROUTE, at(1_000), at(1_000 + ns));
        clock
    }

    #[test]
    fn of_quick_calls_every_fourth_is_clocked() {
        let mut clock = behind_call_of(0);
        for _ in 0..2 {
            for _ in 0..MAX_UNCLOCKED {
                assert!(!clock.is_due_behind(ROUTE));
            }
            assert!(clock.is_due_behind(ROUTE));
            clock.clocked(ROUTE, at(1_000), at(1_000 + QUICK_NS - 1));
        }
    }

    #[test]
    fn slower_ones_are_clocked_each() {
        let mut clock = behind_call_of(QUICK_NS);
        assert!(clock.is_due_behind(ROUTE));
    }

    #[test]
    fn what_went_by_is_no_other_routes() {
        let mut clock = behind_call_of(0);
        assert!(!clock.is_due_before(OTHER), "all is clocked");
        assert!(!clock.is_due_behind(ROUTE));
        assert!(!clock.is_due_before(ROUTE));
        assert!(clock.is_due_before(OTHER));
        clock.clocked(ROUTE, at(1_000), at(1_000));
        assert!(!clock.is_due_before(OTHER));
        assert!(clock.is_due_behind(OTHER), "of that nothing is known yet");
    }
}
