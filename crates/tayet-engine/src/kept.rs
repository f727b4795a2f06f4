//! What a call had its turn for, kept by its thread for the next one.
//!
//! Where many threads take turns at an interpreter, to hand it over costs more than most calls do: the next thread must be woken,
//! and until it runs the interpreter lies unused. The thread that has it does better to go on with the next call itself.

use std::cell::Cell;
use std::time::Duration;

use tayet_net::ThreadUsage;

use crate::RouteId;
use crate::turn_queue::Precedence;

/// What a thread keeps from call to call it has for so long, in its CPU time; then the others come first. An interpreter would
/// take it away after 5 ms, in the middle of a call.
const MAX_KEPT: Duration = Duration::from_millis(2);

/// A worker begins with a call of this route, which may keep it.
pub(crate) fn begin(route: RouteId) {
    if kept_for() != Some(route) {
        give_back();
        KEPT.set(Kept::Undecided { route, since: None });
    }
}

/// The call has come to its end, and has kept it or not.
pub(crate) fn end() {
    if let Kept::Undecided { .. } = KEPT.get() {
        KEPT.set(Kept::No);
    }
}

/// Whether this thread has kept nothing lately: so it is where calls take no turns.
pub(crate) fn is_no_matter() -> bool {
    matches!(KEPT.get(), Kept::No)
}

/// For whose calls this thread has kept what they take turns at.
pub(crate) fn kept_for() -> Option<RouteId> {
    match KEPT.get() {
        Kept::Yes { route, .. } => Some(route),
        Kept::No | Kept::Undecided { .. } | Kept::Spent => None,
    }
}

/// The calling thread goes on with something else; who comes first then.
pub(crate) fn give_back() -> Precedence {
    match KEPT.replace(Kept::No) {
        Kept::Yes { give_back, .. } => {
            give_back();
            Precedence::Own
        }
        Kept::No | Kept::Undecided { .. } => Precedence::Own,
        Kept::Spent => Precedence::Others,
    }
}

/// The call under way decides to keep it; `false` if it may not.
pub(crate) fn keep(give_back: fn()) -> bool {
    let Kept::Undecided { route, since } = KEPT.get() else { return false };
    let cpu = ThreadUsage::cpu_of_current();
    let since = since.unwrap_or(cpu);
    let is_kept = cpu.saturating_sub(since) < MAX_KEPT;
    KEPT.set(if is_kept { Kept::Yes { route, since, give_back } } else { Kept::Spent });
    is_kept
}

/// The call under way has it, if the one before has kept it.
pub(crate) fn take() -> bool {
    let Kept::Yes { route, since, .. } = KEPT.get() else { return false };
    KEPT.set(Kept::Undecided { route, since: Some(since) });
    true
}

/// What a call on this thread had its turn for.
#[derive(Clone, Copy)]
enum Kept {
    No,
    /// It is under way.
    Undecided {
        route: RouteId,
        /// The thread's CPU time when it was first kept, if it was.
        since: Option<Duration>,
    },
    Yes {
        route: RouteId,
        since: Duration,
        give_back: fn(),
    },
    /// It was, for long enough.
    Spent,
}

thread_local! {
    static KEPT: Cell<Kept> = const { Cell::new(Kept::No) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: RouteId = RouteId(1);

    thread_local! {
        static GIVEN_BACK: Cell<u32> = const { Cell::new(0) };
    }

    fn note() {
        GIVEN_BACK.set(GIVEN_BACK.get() + 1);
    }

    #[test]
    fn what_is_kept_is_the_next_calls_or_given_back_once() {
        assert!(!keep(note), "no call is under way");
        begin(ROUTE);
        assert!(!take() && keep(note));
        end();
        assert_eq!(kept_for(), Some(ROUTE));
        begin(ROUTE);
        assert!(take() && !take());
        end();
        assert_eq!(
            (kept_for(), give_back(), GIVEN_BACK.get()),
            (None, Precedence::Own, 0),
            "the call had it, and let it go"
        );
        begin(ROUTE);
        keep(note);
        end();
        assert_eq!((give_back(), give_back(), GIVEN_BACK.get()), (Precedence::Own, Precedence::Own, 1));
    }

    #[test]
    fn another_routes_call_does_not_get_it() {
        begin(ROUTE);
        keep(note);
        end();
        begin(RouteId(2));
        assert_eq!((take(), GIVEN_BACK.get()), (false, 1));
    }

    #[test]
    fn a_call_that_does_not_ask_leaves_it_to_the_next() {
        begin(ROUTE);
        keep(note);
        end();
        begin(ROUTE);
        end();
        begin(ROUTE);
        assert_eq!((take(), GIVEN_BACK.get()), (true, 0));
    }

    #[test]
    fn after_its_time_others_come_first() {
        let began = ThreadUsage::cpu_of_current();
        begin(ROUTE);
        while keep(note) {
            end();
            begin(ROUTE);
            assert!(take());
        }
        assert!(ThreadUsage::cpu_of_current() - began >= MAX_KEPT);
        end();
        assert_eq!((give_back(), give_back(), GIVEN_BACK.get()), (Precedence::Others, Precedence::Own, 0));
    }
}
