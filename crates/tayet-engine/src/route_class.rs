//! Where a route's handler runs: what its calls have taught.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::Pin;
use crate::turn::take_excused;

/// A dispatched call that takes less than this was quick.
const QUICK_CALL: Duration = Duration::from_micros(200);

/// Quick calls, in the main, before a dispatched route is tried inline again.
const PROBATION_CALLS: u32 = 64;

/// How long a route is dispatched at least; doubled each time that it comes back, up to the maximum.
const PROBATION_MS: u64 = 1_000;
const MAX_PROBATION_DOUBLINGS: u32 = 8;

/// Each time that a route has run inline for so long, one doubling is forgiven: what it did hours ago tells little. It is a
/// little longer than the longest probation, so that a route which relapses as soon as it can stays where it got to.
const FORGIVING_MS: u64 = 300_000;

/// A route's class, earned by its calls or pinned by the user. Written now and then, read for each request.
#[derive(Debug, Default)]
pub(crate) struct RouteClass {
    pin: Option<Pin>,
    is_dispatched: AtomicBool,
    quick_streak: AtomicU32,
    /// How often it has come back, less what is forgiven: at most one more than the doublings.
    relapses: AtomicU32,
    dispatched_at_ms: AtomicU64,
    /// Since when it runs inline again.
    inline_at_ms: AtomicU64,
    takeovers: AtomicU64,
    /// What a dispatched call takes, about the median; 0 while none has been seen.
    median_ns: AtomicU64,
}

/// A call moves the median's estimate by one part in eight, up or down. A mean would not do: one call in a thousand whose
/// thread lost its core for some milliseconds would make a microsecond's handler look long.
const MEDIAN_SHIFT: u32 = 3;

impl RouteClass {
    pub(crate) fn new(pin: Option<Pin>) -> Self {
        Self { pin, is_dispatched: AtomicBool::new(pin == Some(Pin::Blocking)), ..Self::default() }
    }

    pub(crate) fn is_dispatched(&self) -> bool {
        self.is_dispatched.load(Ordering::Relaxed)
    }

    pub(crate) fn pin(&self) -> Option<Pin> {
        self.pin
    }

    pub(crate) fn takeovers(&self) -> u64 {
        self.takeovers.load(Ordering::Relaxed)
    }

    /// What a dispatched call of this route will take, as far as one can tell.
    pub(crate) fn expected(&self) -> Option<Duration> {
        match self.median_ns.load(Ordering::Relaxed) {
            0 => None,
            median_ns => Some(Duration::from_nanos(median_ns)),
        }
    }

    /// A call overran and lost its loop.
    pub(crate) fn overran(&self, now_ms: u64) {
        self.takeovers.fetch_add(1, Ordering::Relaxed);
        self.dispatch(now_ms);
    }

    /// A call came to its end on a worker, this thread.
    pub(crate) fn ran_dispatched(&self, took: Duration, now_ms: u64) {
        let took = took.saturating_sub(take_excused());
        self.note_median(took);
        if self.pin.is_some() || !self.is_dispatched() {
            return;
        }
        let streak = self.quick_streak.load(Ordering::Relaxed);
        if took > QUICK_CALL {
            self.quick_streak.store(streak / 2, Ordering::Relaxed);
            return;
        }
        self.quick_streak.store(streak + 1, Ordering::Relaxed);
        let doublings = self.relapses.load(Ordering::Relaxed).saturating_sub(1);
        let probation_ms = PROBATION_MS << doublings;
        let served_ms = now_ms.saturating_sub(self.dispatched_at_ms.load(Ordering::Relaxed));
        if streak + 1 >= PROBATION_CALLS && served_ms >= probation_ms {
            self.inline_at_ms.store(now_ms, Ordering::Relaxed);
            self.is_dispatched.store(false, Ordering::Relaxed);
        }
    }

    fn note_median(&self, took: Duration) {
        let took_ns = (took.as_nanos() as u64).max(1);
        let step = |median_ns: u64| (median_ns >> MEDIAN_SHIFT).max(1);
        let median_ns = match self.median_ns.load(Ordering::Relaxed) {
            0 => took_ns,
            median_ns if took_ns > median_ns => (median_ns + step(median_ns)).min(took_ns),
            median_ns => (median_ns - step(median_ns)).max(took_ns),
        };
        self.median_ns.store(median_ns, Ordering::Relaxed);
    }

    fn dispatch(&self, now_ms: u64) {
        if self.pin.is_none() && !self.is_dispatched.swap(true, Ordering::Relaxed) {
            self.dispatched_at_ms.store(now_ms, Ordering::Relaxed);
            self.quick_streak.store(0, Ordering::Relaxed);
            let good_ms = now_ms.saturating_sub(self.inline_at_ms.load(Ordering::Relaxed));
            let forgiven = u32::try_from(good_ms / FORGIVING_MS).unwrap_or(u32::MAX);
            let remembered = self.relapses.load(Ordering::Relaxed).saturating_sub(forgiven);
            self.relapses.store(remembered.min(MAX_PROBATION_DOUBLINGS) + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_micros(5);
    const SLOW: Duration = Duration::from_millis(1);

    fn serve_quickly(class: &RouteClass, now_ms: u64) {
        (0..PROBATION_CALLS).for_each(|_| class.ran_dispatched(QUICK, now_ms));
    }

    #[test]
    fn one_overrun_dispatches_and_quick_calls_bring_it_back() {
        let class = RouteClass::new(None);
        class.overran(10_000);
        assert!(class.is_dispatched());
        serve_quickly(&class, 10_000 + PROBATION_MS - 1);
        assert!(class.is_dispatched(), "too early");
        serve_quickly(&class, 10_000 + PROBATION_MS);
        assert!(!class.is_dispatched());
    }

    #[test]
    fn a_relapse_doubles_the_probation() {
        let class = RouteClass::new(None);
        class.overran(0);
        serve_quickly(&class, PROBATION_MS);
        class.overran(PROBATION_MS);
        serve_quickly(&class, 2 * PROBATION_MS);
        assert!(class.is_dispatched());
        serve_quickly(&class, 3 * PROBATION_MS);
        assert!(!class.is_dispatched());
    }

    /// Has it relapse, and returns how long it is dispatched then.
    fn probation_ms(class: &RouteClass, now_ms: u64) -> u64 {
        class.overran(now_ms);
        let mut probation_ms = PROBATION_MS;
        while class.is_dispatched() {
            serve_quickly(class, now_ms + probation_ms - 1);
            assert!(class.is_dispatched(), "too early");
            serve_quickly(class, now_ms + probation_ms);
            probation_ms *= 2;
        }
        probation_ms / 2
    }

    #[test]
    fn a_long_good_time_takes_doublings_back_one_by_one() {
        let class = RouteClass::new(None);
        let mut now_ms = 0;
        let mut relapse_after = |good_ms: u64| {
            now_ms += good_ms;
            let probation_ms = probation_ms(&class, now_ms);
            now_ms += probation_ms;
            probation_ms
        };
        let longest_ms = PROBATION_MS << MAX_PROBATION_DOUBLINGS;
        for doublings in 0..=MAX_PROBATION_DOUBLINGS + 3 {
            assert_eq!(relapse_after(0), longest_ms.min(PROBATION_MS << doublings));
        }
        assert_eq!(relapse_after(FORGIVING_MS - 1), longest_ms, "not long enough");
        assert_eq!(relapse_after(FORGIVING_MS), longest_ms, "one is forgiven, and one is new");
        assert_eq!(relapse_after(2 * FORGIVING_MS), longest_ms / 2);
        assert_eq!(relapse_after(100 * FORGIVING_MS), PROBATION_MS);
    }

    #[test]
    fn slow_dispatched_calls_keep_it_dispatched() {
        let class = RouteClass::new(None);
        class.overran(0);
        for _ in 0..1_000 {
            class.ran_dispatched(QUICK, 100_000);
            class.ran_dispatched(SLOW, 100_000);
        }
        assert!(class.is_dispatched());
    }

    #[test]
    fn what_is_excused_of_a_call_does_not_make_it_slow() {
        let class = RouteClass::new(None);
        class.overran(0);
        for _ in 0..PROBATION_CALLS {
            crate::turn::excuse(SLOW);
            class.ran_dispatched(SLOW + QUICK, PROBATION_MS);
        }
        assert_eq!(class.expected(), Some(QUICK));
        assert!(!class.is_dispatched());
        class.overran(PROBATION_MS);
        class.ran_dispatched(SLOW, 10 * PROBATION_MS);
        assert!(class.expected() > Some(QUICK), "an excuse is for one call");
    }

    #[test]
    fn the_median_follows_most_calls_and_no_single_one() {
        let class = RouteClass::new(Some(Pin::Blocking));
        assert_eq!(class.expected(), None);
        class.ran_dispatched(SLOW, 0);
        assert_eq!(class.expected(), Some(SLOW));
        (0..100).for_each(|_| class.ran_dispatched(QUICK, 0));
        assert_eq!(class.expected(), Some(QUICK));
        class.ran_dispatched(Duration::from_secs(1), 0);
        assert!(class.expected().unwrap() < QUICK * 2);
        (0..100).for_each(|_| class.ran_dispatched(SLOW, 0));
        assert_eq!(class.expected(), Some(SLOW));
    }

    #[test]
    fn a_pin_holds_whatever_happens() {
        let inline = RouteClass::new(Some(Pin::Inline));
        inline.overran(0);
        assert!(!inline.is_dispatched());
        let blocking = RouteClass::new(Some(Pin::Blocking));
        serve_quickly(&blocking, 1_000_000);
        assert!(blocking.is_dispatched());
    }
}
