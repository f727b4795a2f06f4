//! Where a route's handler runs: what its calls have taught.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::Pin;
use crate::trial::Ran;

/// A dispatched call that takes less than this was quick.
const QUICK_CALL: Duration = Duration::from_micros(200);

/// So was one on trial that has waited for nothing and computed for less than this: where cores are short, or many threads run
/// an interpreter in turns, it may take longer. No call that computes for less overruns.
pub(crate) const QUICK_COMPUTATION: Duration = Duration::from_micros(500);

/// Quick calls, in the main, before a dispatched route is tried inline again.
const PROBATION_CALLS: u32 = 64;

/// While none of a dispatched route's calls is quick, one in so many is measured: a reading costs system calls, and most
/// routes that block go on to do so.
const CALLS_PER_SAMPLE: u32 = 16;

/// How long a route is dispatched at least; doubled each time that it comes back, up to the maximum.
const PROBATION_MS: u64 = 1_000;
const MAX_PROBATION_MS: u64 = PROBATION_MS << 8;

/// The same for one whose calls overran because others' kept them from their turn; doubled up to an ordinary probation.
const TURN_PROBATION_MS: u64 = 32;

/// More of these, each less than [`HABIT_MS`] behind the one before, have it dispatched. A few are to be expected when a route is
/// just inline again: what was handed over before still has its turns.
const MAX_TURN_WAITS: u32 = 8;

/// Each time that a route has run inline for so long, one doubling is forgiven: what it did hours ago tells little. It is a
/// little longer than the longest probation, so that a route which relapses as soon as it can stays where it got to.
const FORGIVING_MS: u64 = 300_000;

/// A call that computed for long is the route's habit if another one did so less than this before, and fewer than
/// [`HABIT_CALLS`] before. Otherwise it is no reason to have all others handed over: its loop is taken, and that is all. A
/// handler's first call may load what it needs, later ones may be there when an interpreter collects its garbage, and while a
/// virtual machine has lost a core, whichever thread was on it seems to compute.
const HABIT_MS: u64 = 1_000;

/// With so many calls from one long one to the next, to hand all over would cost more than to have the loop taken now and then.
const HABIT_CALLS: u32 = 64;

/// Why a call lost its loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// It waited for something.
    Blocked,
    /// It computed, and is computing yet.
    Computed,
    /// Another's call has what only one can have at a time.
    WaitedForTurn,
}

/// What may be chance, and is counted to see if it is more. The monitor's alone.
#[derive(Debug, Default)]
struct Habit {
    count: AtomicU32,
    last_ms: AtomicU64,
}

impl Habit {
    /// How often it has happened, with this time, at intervals shorter than [`HABIT_MS`].
    fn note(&self, now_ms: u64) -> u32 {
        let passed_ms = now_ms.saturating_sub(self.last_ms.swap(now_ms, Ordering::Relaxed));
        let before = if passed_ms < HABIT_MS { self.count.load(Ordering::Relaxed) } else { 0 };
        self.count.store(before + 1, Ordering::Relaxed);
        before + 1
    }
}

/// A route's class, earned by its calls or pinned by the user. Written now and then, read for each request.
#[derive(Debug, Default)]
pub(crate) struct RouteClass {
    pin: Option<Pin>,
    is_dispatched: AtomicBool,
    quick_streak: AtomicU32,
    /// How many calls are not measured before the next sample.
    unsampled_calls: AtomicU32,
    /// How long it is dispatched, or was last, at least.
    probation_ms: AtomicU64,
    dispatched_at_ms: AtomicU64,
    /// Since when it runs inline again.
    inline_at_ms: AtomicU64,
    computations: Habit,
    /// How many inline calls more that are less than [`HABIT_CALLS`] behind one that computed for long.
    watched_calls: AtomicU32,
    turn_waits: Habit,
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

    /// A call begins on its loop. Where several loops count at the same time, some of the calls are missed.
    pub(crate) fn begins_inline(&self) {
        let left = self.watched_calls.load(Ordering::Relaxed);
        if left > 0 {
            self.watched_calls.store(left - 1, Ordering::Relaxed);
        }
    }

    /// A call overran and lost its loop.
    pub(crate) fn overran(&self, overrun: Overrun, now_ms: u64) {
        self.takeovers.fetch_add(1, Ordering::Relaxed);
        match overrun {
            Overrun::Blocked => self.dispatch(PROBATION_MS, MAX_PROBATION_MS, now_ms),
            Overrun::Computed if self.computes_again(now_ms) => {
                self.dispatch(PROBATION_MS, MAX_PROBATION_MS, now_ms);
            }
            Overrun::WaitedForTurn if self.turn_waits.note(now_ms) > MAX_TURN_WAITS => {
                self.dispatch(TURN_PROBATION_MS, PROBATION_MS, now_ms);
            }
            Overrun::Computed | Overrun::WaitedForTurn => {}
        }
    }

    fn computes_again(&self, now_ms: u64) -> bool {
        let is_soon = self.computations.note(now_ms) > 1;
        self.watched_calls.swap(HABIT_CALLS, Ordering::Relaxed) > 0 && is_soon
    }

    /// A call begins on a worker: whether what it uses of its thread is to be measured.
    pub(crate) fn begins_dispatched(&self, now_ms: u64) -> bool {
        if !self.is_on_trial(now_ms) {
            return false;
        }
        if self.quick_streak.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let left = self.unsampled_calls.load(Ordering::Relaxed);
        self.unsampled_calls.store(left.checked_sub(1).unwrap_or(CALLS_PER_SAMPLE - 1), Ordering::Relaxed);
        left == 0
    }

    /// A call came to its end on a worker.
    pub(crate) fn ran_dispatched(&self, ran: Ran, now_ms: u64) {
        self.note_median(ran.took);
        if self.pin.is_some() || !self.is_dispatched() {
            return;
        }
        let streak = self.quick_streak.load(Ordering::Relaxed);
        if !was_quick(ran) {
            // Of one on trial that was not measured, nobody knows.
            if ran.used.is_some() || !self.is_on_trial(now_ms) {
                self.quick_streak.store(streak / 2, Ordering::Relaxed);
            }
            return;
        }
        self.quick_streak.store(streak + 1, Ordering::Relaxed);
        if streak + 1 >= PROBATION_CALLS && self.is_on_trial(now_ms) {
            self.inline_at_ms.store(now_ms, Ordering::Relaxed);
            self.is_dispatched.store(false, Ordering::Relaxed);
        }
    }

    /// Whether its probation is over, and the calls now show if it may run inline again.
    fn is_on_trial(&self, now_ms: u64) -> bool {
        let served_ms = now_ms.saturating_sub(self.dispatched_at_ms.load(Ordering::Relaxed));
        self.pin.is_none() && self.is_dispatched() && served_ms >= self.probation_ms.load(Ordering::Relaxed)
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

    /// Dispatches it from now on: for twice as long as the last time, within these bounds, but for what is forgiven.
    fn dispatch(&self, min_ms: u64, max_ms: u64, now_ms: u64) {
        if self.pin.is_some() || self.is_dispatched() {
            return;
        }
        let good_ms = now_ms.saturating_sub(self.inline_at_ms.load(Ordering::Relaxed));
        let forgiven = u32::try_from(good_ms / FORGIVING_MS).unwrap_or(u32::MAX);
        let last_ms = self.probation_ms.load(Ordering::Relaxed).checked_shr(forgiven).unwrap_or(0);
        let probation_ms = (2 * last_ms).clamp(min_ms, max_ms.max(last_ms));
        self.probation_ms.store(probation_ms, Ordering::Relaxed);
        self.dispatched_at_ms.store(now_ms, Ordering::Relaxed);
        self.quick_streak.store(0, Ordering::Relaxed);
        self.turn_waits.count.store(0, Ordering::Relaxed);
        self.is_dispatched.store(true, Ordering::Relaxed);
    }
}

fn was_quick(ran: Ran) -> bool {
    ran.took <= QUICK_CALL || ran.used.is_some_and(|used| used.waits == 0 && used.cpu <= QUICK_COMPUTATION)
}

#[cfg(test)]
mod tests {
    use tayet_net::ThreadUsage;

    use super::*;

    const QUICK: Duration = Duration::from_micros(5);
    const SLOW: Duration = Duration::from_millis(1);

    fn ran(took: Duration) -> Ran {
        Ran { took, used: None }
    }

    /// One that was measured, and has blocked.
    fn blocked() -> Ran {
        Ran { took: SLOW, used: Some(ThreadUsage { cpu: QUICK, waits: 1 }) }
    }

    fn serve_quickly(class: &RouteClass, now_ms: u64) {
        (0..PROBATION_CALLS).for_each(|_| class.ran_dispatched(ran(QUICK), now_ms));
    }

    #[test]
    fn one_overrun_dispatches_and_quick_calls_bring_it_back() {
        let class = RouteClass::new(None);
        class.overran(Overrun::Blocked, 10_000);
        assert!(class.is_dispatched());
        serve_quickly(&class, 10_000 + PROBATION_MS - 1);
        assert!(class.is_dispatched(), "too early");
        serve_quickly(&class, 10_000 + PROBATION_MS);
        assert!(!class.is_dispatched());
    }

    #[test]
    fn a_relapse_doubles_the_probation() {
        let class = RouteClass::new(None);
        class.overran(Overrun::Blocked, 0);
        serve_quickly(&class, PROBATION_MS);
        class.overran(Overrun::Blocked, PROBATION_MS);
        serve_quickly(&class, 2 * PROBATION_MS);
        assert!(class.is_dispatched());
        serve_quickly(&class, 3 * PROBATION_MS);
        assert!(!class.is_dispatched());
    }

    /// Has it relapse, and returns how long it is dispatched then.
    fn probation_of(class: &RouteClass, now_ms: u64) -> u64 {
        class.overran(Overrun::Blocked, now_ms);
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
            let probation_ms = probation_of(&class, now_ms);
            now_ms += probation_ms;
            probation_ms
        };
        let longest_ms = MAX_PROBATION_MS;
        for doublings in 0..=11 {
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
        class.overran(Overrun::Blocked, 0);
        for _ in 0..1_000 {
            class.ran_dispatched(ran(QUICK), 100_000);
            class.ran_dispatched(blocked(), 100_000);
        }
        assert!(class.is_dispatched());
    }

    #[test]
    fn slow_calls_during_its_probation_count_without_being_measured() {
        let class = RouteClass::new(None);
        class.overran(Overrun::Blocked, 0);
        for _ in 0..PROBATION_CALLS {
            class.ran_dispatched(ran(QUICK), PROBATION_MS - 1);
            class.ran_dispatched(ran(SLOW), PROBATION_MS - 1);
        }
        class.ran_dispatched(ran(QUICK), PROBATION_MS);
        assert!(class.is_dispatched());
    }

    #[test]
    fn on_trial_one_call_in_some_is_measured_and_all_once_one_was_quick() {
        let class = RouteClass::new(None);
        class.overran(Overrun::Blocked, 0);
        assert!(!class.begins_dispatched(PROBATION_MS - 1));
        let measured_of = |calls: u32| (0..calls).filter(|_| class.begins_dispatched(PROBATION_MS)).count();
        class.ran_dispatched(blocked(), PROBATION_MS);
        assert_eq!(measured_of(10 * CALLS_PER_SAMPLE), 10);
        class.ran_dispatched(ran(QUICK), PROBATION_MS);
        class.ran_dispatched(ran(SLOW), PROBATION_MS);
        assert_eq!(measured_of(100), 100, "one that was not measured says nothing");
        class.ran_dispatched(blocked(), PROBATION_MS);
        assert_eq!(measured_of(CALLS_PER_SAMPLE), 1);
    }

    #[test]
    fn on_trial_what_counts_is_whether_it_waited_and_how_long_it_computed() {
        let used = |waits, cpu| Ran { took: SLOW, used: Some(ThreadUsage { cpu, waits }) };
        let is_released_after = |ran: Ran| {
            let class = RouteClass::new(None);
            class.overran(Overrun::Blocked, 0);
            (0..PROBATION_CALLS).for_each(|_| class.ran_dispatched(ran, PROBATION_MS));
            !class.is_dispatched()
        };
        assert!(is_released_after(used(0, QUICK_COMPUTATION)), "it had to wait for a core");
        assert!(!is_released_after(used(1, QUICK)), "it blocked");
        assert!(!is_released_after(used(0, SLOW)), "it computed");
        assert!(!is_released_after(ran(SLOW)), "one that was not measured");
    }

    #[test]
    fn a_call_that_computes_for_long_is_a_habit_only_with_another_soon() {
        let class = RouteClass::new(None);
        class.overran(Overrun::Computed, 0);
        class.overran(Overrun::Computed, HABIT_MS);
        assert!(!class.is_dispatched());
        class.overran(Overrun::Computed, 2 * HABIT_MS - 1);
        assert!(class.is_dispatched());
        assert_eq!(class.takeovers(), 3);
        serve_quickly(&class, 2 * HABIT_MS + PROBATION_MS - 2);
        assert!(class.is_dispatched(), "too early");
    }

    #[test]
    fn nor_is_it_one_with_many_others_in_between() {
        let class = RouteClass::new(None);
        let overruns_after = |calls| {
            (0..calls).for_each(|_| class.begins_inline());
            class.overran(Overrun::Computed, 0);
            class.is_dispatched()
        };
        assert!(!overruns_after(1));
        assert!(!overruns_after(HABIT_CALLS));
        assert!(!overruns_after(10 * HABIT_CALLS));
        assert!(overruns_after(HABIT_CALLS - 1));
    }

    #[test]
    fn who_often_waits_for_its_turn_is_dispatched_for_a_moment() {
        let class = RouteClass::new(None);
        let mut now_ms = 0;
        let wait = |now_ms| class.overran(Overrun::WaitedForTurn, now_ms);
        for probation_ms in [32, 64, 128, 256, 512, PROBATION_MS, PROBATION_MS] {
            (0..MAX_TURN_WAITS).for_each(|_| wait(now_ms));
            assert!(!class.is_dispatched(), "too few");
            wait(now_ms);
            serve_quickly(&class, now_ms + probation_ms - 1);
            assert!(class.is_dispatched(), "too early");
            now_ms += probation_ms;
            serve_quickly(&class, now_ms);
            assert!(!class.is_dispatched());
        }
        assert_eq!(probation_of(&class, now_ms), 2 * PROBATION_MS, "then it blocks");
        now_ms += 2 * PROBATION_MS;
        (0..=MAX_TURN_WAITS).for_each(|_| wait(now_ms));
        assert!(class.is_dispatched());
        serve_quickly(&class, now_ms + 2 * PROBATION_MS);
        assert!(!class.is_dispatched(), "nothing is added to that");
    }

    #[test]
    fn the_median_follows_most_calls_and_no_single_one() {
        let class = RouteClass::new(Some(Pin::Blocking));
        assert_eq!(class.expected(), None);
        class.ran_dispatched(ran(SLOW), 0);
        assert_eq!(class.expected(), Some(SLOW));
        (0..100).for_each(|_| class.ran_dispatched(ran(QUICK), 0));
        assert_eq!(class.expected(), Some(QUICK));
        class.ran_dispatched(ran(Duration::from_secs(1)), 0);
        assert!(class.expected().unwrap() < QUICK * 2);
        (0..100).for_each(|_| class.ran_dispatched(ran(SLOW), 0));
        assert_eq!(class.expected(), Some(SLOW));
    }

    #[test]
    fn a_pin_holds_whatever_happens() {
        let inline = RouteClass::new(Some(Pin::Inline));
        inline.overran(Overrun::Blocked, 0);
        assert!(!inline.is_dispatched());
        let blocking = RouteClass::new(Some(Pin::Blocking));
        serve_quickly(&blocking, 1_000_000);
        assert!(blocking.is_dispatched());
    }
}
