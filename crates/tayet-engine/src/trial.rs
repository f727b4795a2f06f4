//! What a dispatched call used of its thread, while its route is tried.
//!
//! The time on the clock tells little where cores are short: a call of some microseconds may have had to wait for one. So where
//! it matters, whether the route may run inline again, what counts is whether the call waited and how long it computed.

use std::cell::Cell;
use std::time::Duration;

use tayet_net::ThreadUsage;

/// A call's time on a worker, without what is excused of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    /// On the clock.
    pub(crate) took: Duration,
    /// Behind its last wait for a turn; `None` unless it was measured.
    pub(crate) used: Option<ThreadUsage>,
}

/// A call begins on this thread, and is to be measured or not.
pub(crate) fn begin(is_measured: bool) {
    EXCUSED.set(Some(Duration::ZERO));
    SINCE.set(is_measured.then(ThreadUsage::of_current));
}

/// The call has come to its end and took so long.
pub(crate) fn end(took: Duration) -> Ran {
    let used = SINCE.take().map(|since| ThreadUsage::of_current().since(since));
    Ran { took: took.saturating_sub(EXCUSED.take().unwrap_or_default()), used }
}

/// Whether there is a call on this thread of which something can be excused.
pub(crate) fn is_on() -> bool {
    EXCUSED.get().is_some()
}

/// The call on this thread, if any, has waited for its turn: so much of it is excused.
pub(crate) fn excuse(waited: Duration) {
    EXCUSED.set(EXCUSED.get().map(|excused| excused + waited));
    if SINCE.get().is_some() {
        SINCE.set(Some(ThreadUsage::of_current()));
    }
}

thread_local! {
    /// Of the call under way.
    static EXCUSED: Cell<Option<Duration>> = const { Cell::new(None) };
    static SINCE: Cell<Option<ThreadUsage>> = const { Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(2);

    #[test]
    fn a_call_that_is_not_to_be_measured_is_not() {
        begin(false);
        assert_eq!(end(WAIT).used, None);
    }

    #[test]
    fn a_measured_call_answers_for_what_it_waited() {
        begin(true);
        std::thread::sleep(WAIT);
        let ran = end(WAIT);
        assert!(ran.used.is_some_and(|used| used.waits >= 1), "{ran:?}");
        assert_eq!(ran.took, WAIT);
    }

    #[test]
    fn there_is_nothing_to_excuse_but_within_a_call() {
        excuse(WAIT);
        assert!(!is_on());
        begin(false);
        assert!(is_on());
        assert_eq!(end(WAIT).took, WAIT);
        assert!(!is_on());
    }

    #[test]
    fn its_waits_for_turns_are_excused_and_an_excuse_is_for_one_call() {
        begin(true);
        std::thread::sleep(WAIT);
        excuse(WAIT);
        excuse(WAIT);
        let ran = end(4 * WAIT);
        assert_eq!((ran.took, ran.used.map(|used| used.waits)), (2 * WAIT, Some(0)));
        begin(false);
        assert_eq!(end(WAIT).took, WAIT);
    }
}
