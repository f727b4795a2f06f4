//! The monitor: takes loops from handlers that overrun, and lets the pool grow.

use std::sync::Arc;
use std::time::Duration;

use tayet_net::{Moment, ThreadActivity};

use crate::doze::Doze;
use crate::event_loop::Loop;
use crate::flusher::Flusher;
use crate::pool::Pool;
use crate::route_class::{Overrun, QUICK_COMPUTATION};
use crate::shared::Shared;
use crate::slot::{Published, Slot};
#[cfg(all(test, not(loom)))]
use crate::span::Span;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::turn::TurnPlace;
use crate::worker;

/// How soon the monitor looks again while a call is under way that it has seen, or something is queued. 1 ms.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// How soon it looks again while it sees nothing of that kind. 2 ms: at full load a look costs some 16 µs, most of that for the
/// switch to its thread and back.
const CALM_TICK: Duration = Duration::from_millis(2);

/// How soon it looks again where handlers seem never to block: once nothing has overrun or been queued in [`WARY_LOOKS`]. A loop
/// that is always in some call is then seen in a new one each time. 4 ms: the first call that does block is seen twice within
/// 8 ms, and that is what it may cost the others of its loop.
const QUIET_TICK: Duration = Duration::from_millis(4);

/// Looks since a loop was taken, or a queue seen, after which the monitor looks less often: a second's.
const WARY_LOOKS: u32 = 500;

/// Ticks without a loop at work, and nothing queued, after which the monitor sleeps until a loop wakes it.
const IDLE_TICKS: u32 = 64;

/// A thread that runs has overrun when its call has had this much CPU time under the monitor's eyes; one that neither
/// sleeps nor runs only waits for a core, and another thread would have to wait for it too.
const MIN_CPU_NS: u64 = QUICK_COMPUTATION.as_nanos() as u64;

/// What the monitor watches, a place for each loop.
pub(crate) struct Monitor {
    posts: Box<[Watch]>,
    doze: Doze,
    is_stopping: AtomicBool,
}

/// One loop, watched. On cache lines of its own, since its thread writes here every turn.
#[repr(align(128))]
struct Watch {
    is_awake: AtomicBool,
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
    pub(crate) fn new(loops: usize) -> Self {
        Self {
            posts: (0..loops).map(|_| Watch::new()).collect(),
            doze: Doze::new(),
            is_stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn set_driving(&self, index: usize, driving: Driving) {
        *lock(&self.posts[index].driving) = Some(driving);
    }

    pub(crate) fn clear_driving(&self, index: usize) {
        *lock(&self.posts[index].driving) = None;
    }

    /// The loop has something to do.
    pub(crate) fn loop_wakes(&self, index: usize) {
        self.posts[index].is_awake.store(true, Ordering::Relaxed);
        self.doze.rouse();
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

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.doze.rouse();
    }

    /// There is something to look after.
    pub(crate) fn rouse(&self) {
        self.doze.rouse();
    }

    /// Whether the monitor may sleep: no loop is at work, nothing waits for a thread that the pool may yet need to start, and no
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
        Self { is_awake: AtomicBool::new(false), driving: Mutex::new(None) }
    }
}

/// The monitor's thread, until the engine stops.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut patrol = Patrol::new(shared);
    while !shared.monitor.is_stopping() {
        patrol.pause();
        patrol.take_loops_that_overran();
        let missing = shared.pool.grow(Moment::now() - TICK);
        worker::start_counted(shared, missing);
        patrol.is_pressing = shared.flusher.look();
        patrol.sleep_where_nothing_happens();
    }
}

/// What the monitor's thread remembers from look to look.
struct Patrol<'a> {
    shared: &'a Arc<Shared>,
    /// The call that each loop was seen in.
    suspects: Vec<Option<Suspect>>,
    /// Looks since a loop was taken, or a queue seen.
    quiet_looks: u32,
    /// Looks since there was anything to look after.
    idle_looks: u32,
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
        let suspects = vec![None; shared.monitor.posts.len()];
        Self { shared, suspects, quiet_looks: 0, idle_looks: 0, is_pressing: false }
    }

    /// Waits until it is time for the next look.
    fn pause(&mut self) {
        let has_queue = self.shared.pool.has_queue();
        if has_queue {
            self.quiet_looks = 0;
        }
        let tick = if has_queue || self.is_pressing {
            TICK
        } else {
            tick_between(&self.suspects, self.quiet_looks >= WARY_LOOKS)
        };
        std::thread::sleep(tick);
        self.quiet_looks = self.quiet_looks.saturating_add(1);
    }

    fn take_loops_that_overran(&mut self) {
        for (post, suspect) in self.shared.monitor.posts.iter().zip(&mut self.suspects) {
            if let Some((mut the_loop, overrun)) = look(post, suspect) {
                self.quiet_looks = 0;
                the_loop.note_takeover(overrun);
                let missing = self.shared.pool.drive(the_loop);
                worker::start_counted(self.shared, missing);
            }
        }
    }

    /// Sleeps until there is something to look after, if there has been nothing for a while.
    fn sleep_where_nothing_happens(&mut self) {
        let Shared { monitor, pool, flusher, .. } = &**self.shared;
        let is_idle = || monitor.is_idle(pool, flusher);
        self.idle_looks = if is_idle() { self.idle_looks + 1 } else { 0 };
        if self.idle_looks > IDLE_TICKS {
            // A loop may have queued a job and fallen asleep again before this thread has come to look.
            monitor.doze.sleep_while(|| is_idle() && !monitor.is_stopping());
            self.idle_looks = 0;
        }
    }
}

/// How soon the calls that were seen are to be looked at again.
fn tick_between(suspects: &[Option<Suspect>], is_quiet: bool) -> Duration {
    let mut seen = suspects.iter().flatten();
    if seen.any(|suspect| suspect.cpu_ns.is_some() || !is_quiet) {
        TICK
    } else if is_quiet {
        QUIET_TICK
    } else {
        CALM_TICK
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

    fn suspect(cpu_ns: Option<u64>) -> Option<Suspect> {
        Some(Suspect { published: Slot::new().publish(Box::new(())), cpu_ns })
    }

    #[test]
    fn a_new_call_is_looked_at_soon_unless_handlers_never_block() {
        assert_eq!(tick_between(&[None, suspect(None)], false), TICK);
        assert_eq!(tick_between(&[None, suspect(None)], true), QUIET_TICK);
        assert_eq!(tick_between(&[None, None], false), CALM_TICK);
        assert_eq!(tick_between(&[None, None], true), QUIET_TICK);
    }

    #[test]
    fn a_call_that_has_been_under_way_is_always_looked_at_soon() {
        assert_eq!(tick_between(&[suspect(Some(1)), None], true), TICK);
    }
}
