//! The monitor: takes loops from handlers that overrun, and lets the pool grow.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use tayet_net::{AlarmClock, Moment, ThreadActivity};

use crate::alarm::Alarm;
use crate::event_loop::Loop;
use crate::flusher::Flusher;
use crate::pool::Pool;
use crate::route_class::{Overrun, QUICK_COMPUTATION};
use crate::shared::Shared;
use crate::slot::{Published, Slot};
#[cfg(all(test, not(loom)))]
use crate::span::Span;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::turn::TurnPlace;
use crate::worker;

/// How soon the monitor looks again while a call is under way that it has seen, or something is queued. 1 ms.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// How soon it looks once a loop is at work, or has ceased to go on. 3 ms: a call that blocks is seen twice within this and a
/// [`TICK`], and that is what it may cost the others of its loop.
const FIRST_LOOK: Duration = Duration::from_millis(3);

/// How often a loop that goes on puts the look off, unless another has. 1 ms: a system call each.
const PUT_OFF_EVERY: Duration = Duration::from_millis(1);

/// How long a loop at work may not have gone on for the others to put the look off. 2 ms.
const GOES_ON: Duration = Duration::from_millis(2);

/// A thread that runs has overrun when its call has had this much CPU time under the monitor's eyes; one that neither
/// sleeps nor runs only waits for a core, and another thread would have to wait for it too.
const MIN_CPU_NS: u64 = QUICK_COMPUTATION.as_nanos() as u64;

/// What the monitor watches, a place for each loop.
pub(crate) struct Monitor {
    posts: Box<[Watch]>,
    /// Written once a millisecond by one of the loops, and so kept away from what all read for each request.
    alarm: CachePadded<Alarm>,
    is_stopping: AtomicBool,
}

/// One loop, watched. On cache lines of its own, since its thread writes here every turn.
#[repr(align(128))]
struct Watch {
    is_awake: AtomicBool,
    /// When it last had come to the end of a call or of a wait, less than [`PUT_OFF_EVERY`] ago.
    went_on_ns: AtomicU64,
    driving: Mutex<Option<Driving>>,
}

/// The thread that drives a loop.
pub(crate) struct Driving {
    pub(crate) slot: Arc<Slot<Loop>>,
    /// `None` where /proc is not to be had; every call seen on two looks has overrun there.
    pub(crate) activity: Option<ThreadActivity>,
    /// `None` where nobody asks when it is a thread's turn.
    pub(crate) place: Option<Arc<TurnPlace>>,
}

impl Monitor {
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub(crate) fn new(loops: usize) -> io::Result<Self> {
        Ok(Self {
            posts: (0..loops).map(|_| Watch::new()).collect(),
            alarm: CachePadded::new(Alarm::new(AlarmClock::new()?)),
            is_stopping: AtomicBool::new(false),
        })
    }

    pub(crate) fn set_driving(&self, index: usize, driving: Driving) {
        *lock(&self.posts[index].driving) = Some(driving);
    }

    pub(crate) fn clear_driving(&self, index: usize) {
        *lock(&self.posts[index].driving) = None;
    }

    /// The loop has something to do.
    pub(crate) fn loop_wakes(&self, index: usize, now: Moment) {
        self.posts[index].is_awake.store(true, Ordering::Relaxed);
        self.alarm.ensure(now, FIRST_LOOK);
    }

    /// The loop is at work and not stuck: while this is so of all that are, and nothing else is to be looked after, the monitor
    /// need not look.
    #[inline]
    pub(crate) fn loop_goes_on(&self, index: usize, now: Moment, pool: &Pool, flusher: &Flusher) {
        if !self.posts[index].went_on_within(PUT_OFF_EVERY, now) {
            self.note_that_it_goes_on(index, now, pool, flusher);
        }
    }

    #[inline(never)]
    fn note_that_it_goes_on(&self, index: usize, now: Moment, pool: &Pool, flusher: &Flusher) {
        self.posts[index].went_on_ns.store(now.as_ns(), Ordering::Relaxed);
        let another_has_just = self.alarm.is_due_after(now + (FIRST_LOOK - PUT_OFF_EVERY));
        if !another_has_just && self.can_wait(now, pool, flusher) {
            self.alarm.set(now, FIRST_LOOK);
        }
    }

    /// Whether the next look can: every loop is well, and nothing but loops is to be looked after.
    fn can_wait(&self, now: Moment, pool: &Pool, flusher: &Flusher) -> bool {
        self.posts.iter().all(|post| post.is_well(now)) && !pool.has_queue() && flusher.is_idle()
    }

    /// The loop is about to wait.
    pub(crate) fn loop_sleeps(&self, index: usize) {
        self.posts[index].is_awake.store(false, Ordering::Relaxed);
    }

    /// Where a loop's thread writes.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn span(&self, index: usize) -> Span {
        Span::of(&self.posts[index])
    }

    /// Where one of the loops' threads writes for all.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn alarm_span(&self) -> Span {
        Span::of(&self.alarm)
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.alarm.ensure(Moment::now(), Duration::ZERO);
    }

    /// There is something to look after.
    pub(crate) fn rouse(&self) {
        self.alarm.ensure(Moment::now(), TICK);
    }

    /// Whether the monitor need not look: no loop is at work, nothing waits for a thread that the pool may yet need to start, and no
    /// writer may leave something to be sent.
    pub(crate) fn is_idle(&self, pool: &Pool, flusher: &Flusher) -> bool {
        !self.is_any_loop_awake() && !pool.has_queue() && flusher.is_idle()
    }

    fn is_any_loop_awake(&self) -> bool {
        self.posts.iter().any(|post| post.is_awake.load(Ordering::Relaxed))
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }
}

impl Watch {
    fn new() -> Self {
        Self { is_awake: AtomicBool::new(false), went_on_ns: AtomicU64::new(0), driving: Mutex::new(None) }
    }

    /// Whether it did no longer ago than that.
    fn went_on_within(&self, time: Duration, now: Moment) -> bool {
        // In nanoseconds, since it is asked for each request.
        now.ns_since(Moment::from_ns(self.went_on_ns.load(Ordering::Relaxed))) < time.as_nanos() as u64
    }

    /// Whether the loop waits, or has gone on of late.
    fn is_well(&self, now: Moment) -> bool {
        !self.is_awake.load(Ordering::Relaxed) || self.went_on_within(GOES_ON, now)
    }
}

/// The monitor's thread, until the engine stops.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut patrol = Patrol::new(shared);
    while !shared.monitor.is_stopping() {
        shared.monitor.alarm.wait();
        patrol.take_loops_that_overran();
        let missing = shared.pool.grow(Moment::now() - TICK);
        worker::start_counted(shared, missing);
        patrol.is_pressing = shared.flusher.look();
        patrol.set_alarm();
    }
}

/// What the monitor's thread remembers from look to look.
struct Patrol<'a> {
    shared: &'a Arc<Shared>,
    /// The call that each loop was seen in.
    suspects: Vec<Option<Suspect>>,
    /// The flusher has something that is to be sent soon.
    is_pressing: bool,
}

/// A call seen under way on an earlier look.
#[derive(Clone, Copy)]
struct Suspect {
    published: Published,
    /// The CPU time that its thread had had when it was seen for the second time: most calls never are, and to ask is dear.
    cpu_ns: Option<u64>,
}

impl<'a> Patrol<'a> {
    fn new(shared: &'a Arc<Shared>) -> Self {
        Self { shared, suspects: vec![None; shared.monitor.posts.len()], is_pressing: false }
    }

    fn take_loops_that_overran(&mut self) {
        for (post, suspect) in self.shared.monitor.posts.iter().zip(&mut self.suspects) {
            if let Some((mut the_loop, overrun)) = look(post, suspect) {
                the_loop.note_takeover(overrun);
                let missing = self.shared.pool.drive(the_loop);
                worker::start_counted(self.shared, missing);
            }
        }
    }

    /// Sees to the next look, if there is to be one before a loop wakes.
    fn set_alarm(&self) {
        let Shared { monitor, pool, flusher, .. } = &**self.shared;
        // A loop may have queued a job and fallen asleep again before this thread has come to look.
        if monitor.alarm.unset_unless(|| monitor.is_stopping() || !monitor.is_idle(pool, flusher)) {
            return;
        }
        let is_soon = self.is_pressing || pool.has_queue() || self.suspects.iter().any(Option::is_some);
        monitor.alarm.ensure(Moment::now(), if is_soon { TICK } else { FIRST_LOOK });
    }
}

/// Looks at one loop; takes it if its call has overrun.
fn look(post: &Watch, suspect: &mut Option<Suspect>) -> Option<(Box<Loop>, Overrun)> {
    let guard = lock(&post.driving);
    let driving = guard.as_ref()?;
    let Some(published) = driving.slot.published() else {
        *suspect = None;
        return None;
    };
    let Some(known) = suspect.as_mut().filter(|known| known.published == published) else {
        *suspect = Some(Suspect { published, cpu_ns: None });
        return None;
    };
    let state = driving.activity.as_ref().and_then(|activity| activity.read().ok());
    let is_blocked = state.is_none_or(|state| state.is_blocked);
    if let Some(state) = state
        && !is_blocked
    {
        let before_ns = *known.cpu_ns.get_or_insert(state.cpu_ns);
        if state.cpu_ns.saturating_sub(before_ns) < MIN_CPU_NS {
            return None;
        }
    }
    *suspect = None;
    let overrun = match &driving.place {
        Some(place) if place.is_waiting() => Overrun::WaitedForTurn,
        _ if is_blocked => Overrun::Blocked,
        _ => Overrun::Computed,
    };
    Some((driving.slot.take(published)?, overrun))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool_size::Size;

    fn at_ms(ms: u64) -> Moment {
        Moment::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_loop_that_waits_is_well_and_one_at_work_is_if_it_goes_on() {
        let post = Watch::new();
        post.went_on_ns.store(at_ms(100).as_ns(), Ordering::Relaxed);
        assert!(post.is_well(at_ms(200)));
        post.is_awake.store(true, Ordering::Relaxed);
        assert!(post.is_well(at_ms(101)));
        assert!(!post.is_well(at_ms(102)));
    }

    #[test]
    fn the_look_is_put_off_while_every_loop_at_work_goes_on() {
        let monitor = Monitor::new(2).unwrap();
        let pool = Pool::new(Size::Elastic { max: 1, standby: 0, eager: false }, 1, Duration::from_secs(1));
        let flusher = Flusher::default();
        let can_wait = |at: u64| monitor.can_wait(at_ms(at), &pool, &flusher);
        for index in 0..2 {
            monitor.loop_wakes(index, at_ms(100));
            monitor.loop_goes_on(index, at_ms(100), &pool, &flusher);
        }
        assert!(can_wait(101));
        monitor.loop_goes_on(0, at_ms(103), &pool, &flusher);
        assert!(!can_wait(103), "the other is stuck");
        monitor.loop_sleeps(1);
        assert!(can_wait(103));
    }
}
