//! The threads that run what loops hand over, and that stand by to drive a loop which has lost its thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use tayet_net::Moment;

use crate::event_loop::Loop;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::worker::Job;

/// How many threads a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Exactly so many workers.
    Fixed { workers: usize },
    /// As many as are needed, up to `max`, of which `standby` are kept free for loops. It grows at once when it is
    /// `eager`, else when the monitor finds that jobs have waited.
    Elastic { max: usize, standby: usize, eager: bool },
}

/// What a thread of the pool is to do next.
pub(crate) enum Assignment {
    Drive(Box<Loop>),
    Run(Job),
}

/// Threads, and what waits for them.
pub(crate) struct Pool {
    state: Mutex<State>,
    size: Size,
    queue_capacity: usize,
    idle_timeout: Duration,
    /// Whether a loop may run a handler itself: someone stands by to go on with the loop, or can be had.
    may_run_inline: AtomicBool,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    loops: VecDeque<Box<Loop>>,
    /// Parked workers; the one that parked last is woken first, so that the others may age and go.
    idle: Vec<Arc<Seat>>,
    /// Parked threads that are kept for loops.
    standby: Vec<Arc<Seat>>,
    /// All threads of the pool, and those about to be.
    threads: usize,
    /// Of those, the ones that are about to be.
    starting: usize,
    /// Threads that drive a loop.
    driving: usize,
    is_stopping: bool,
}

/// The work for which it is worth waking another worker.
const WORTH_A_WAKE: Duration = Duration::from_micros(20);

/// How many workers some jobs are worth: each its own, but for those that are known to be short.
fn workers_for(jobs: &[Job]) -> usize {
    let mut alone = 0;
    let mut together = Duration::ZERO;
    for job in jobs {
        match job.expected() {
            Some(expected) if expected < WORTH_A_WAKE => together += expected,
            _ => alone += 1,
        }
    }
    let shared = together.as_nanos().div_ceil(WORTH_A_WAKE.as_nanos()) as usize;
    alone + shared
}

impl State {
    /// Takes idle workers out of their list, to be woken once the lock is gone; those that parked last come first.
    fn wake(&mut self, wanted: usize) -> Vec<Arc<Seat>> {
        let woken = self.idle.split_off(self.idle.len() - wanted.min(self.idle.len()));
        woken.iter().for_each(|seat| seat.is_parked.store(false, Ordering::Relaxed));
        woken
    }
}

/// A thread's place in the pool.
pub(crate) struct Seat {
    thread: Thread,
    /// In `idle` or `standby`; changed under the pool's lock.
    is_parked: AtomicBool,
}

/// Figures of the pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) threads: usize,
    pub(crate) busy: usize,
    pub(crate) queued: usize,
}

impl Seat {
    /// For the calling thread.
    pub(crate) fn of_current() -> Arc<Self> {
        Arc::new(Self { thread: std::thread::current(), is_parked: AtomicBool::new(false) })
    }
}

impl Pool {
    pub(crate) fn new(size: Size, queue_capacity: usize, idle_timeout: Duration) -> Self {
        Self {
            state: Mutex::new(State::default()),
            size,
            queue_capacity,
            idle_timeout,
            may_run_inline: AtomicBool::new(matches!(size, Size::Elastic { .. })),
        }
    }

    /// Counts threads in that are about to join.
    pub(crate) fn enlist(&self, count: usize) {
        let mut state = self.lock();
        state.threads += count;
        state.starting += count;
    }

    /// A thread that was counted in has started.
    pub(crate) fn join(&self) {
        self.lock().starting -= 1;
    }

    /// A thread that was counted in could not be started.
    pub(crate) fn discharge(&self) {
        let mut state = self.lock();
        state.threads -= 1;
        state.starting -= 1;
    }

    pub(crate) fn may_run_inline(&self) -> bool {
        self.may_run_inline.load(Ordering::Relaxed)
    }

    /// Queues what a loop has gathered, with one lock and as few wake-ups as will do: a wake-up costs more than many a
    /// handler, so calls that are known to be short share one. What the queue has no room for stays in `jobs`. Returns
    /// how many threads must be started now, since there are none to wait for.
    pub(crate) fn dispatch(&self, jobs: &mut Vec<Job>) -> usize {
        let mut state = self.lock();
        // With a queue and idle workers, one of the others is on its way to it.
        let is_served = !state.queue.is_empty();
        let (taken, left) = self.admit(&state, jobs);
        *jobs = left;
        let workers = workers_for(&taken);
        state.queue.extend(taken);
        let missing = if state.idle.is_empty() { self.recruit_at_once(&mut state, workers) } else { 0 };
        let woken = state.wake(workers - usize::from(is_served && workers > 0));
        drop(state);
        woken.iter().for_each(|seat| seat.thread.unpark());
        missing
    }

    /// Hands a loop, taken from its thread, to a standby thread, or an idle one. Returns how many threads must be started
    /// for it.
    pub(crate) fn drive(&self, the_loop: Box<Loop>) -> usize {
        let mut state = self.lock();
        state.driving -= 1;
        state.loops.push_back(the_loop);
        let woken = state.standby.pop().or_else(|| state.idle.pop());
        if let Some(seat) = &woken {
            seat.is_parked.store(false, Ordering::Relaxed);
        }
        let missing = if woken.is_none() { self.recruit(&mut state, 1) } else { 0 };
        self.update_permission(&state);
        drop(state);
        if let Some(seat) = woken {
            seat.thread.unpark();
        }
        missing
    }

    /// The monitor's: fills the standby, and grows for jobs that have waited since before `waiting_since`. Returns how
    /// many threads must be started.
    ///
    /// Calls that were thought to be short may have proved otherwise: the workers that were let sleep for them are woken.
    pub(crate) fn grow(&self, waiting_since: Moment) -> usize {
        let mut state = self.lock();
        let waited = state.queue.iter().take_while(|job| job.queued_at() <= waiting_since).count();
        let woken = state.wake(waited);
        let missing = self.grow_by(&mut state, waited - woken.len());
        drop(state);
        woken.iter().for_each(|seat| seat.thread.unpark());
        missing
    }

    fn grow_by(&self, state: &mut State, waited: usize) -> usize {
        let Size::Elastic { standby, .. } = self.size else { return 0 };
        while state.standby.len() < standby
            && let Some(seat) = state.idle.pop()
        {
            state.standby.push(seat);
        }
        let short = standby - state.standby.len().min(standby);
        let wanted = (short + waited).saturating_sub(state.starting);
        let missing = self.recruit(state, wanted);
        self.update_permission(state);
        missing
    }

    /// A thread of the pool: waits for something to do. `None` when it is to end.
    pub(crate) fn next(&self, seat: &Arc<Seat>) -> Option<Assignment> {
        let mut state = self.lock();
        loop {
            if let Some(the_loop) = state.loops.pop_front() {
                state.driving += 1;
                return Some(Assignment::Drive(the_loop));
            }
            if self.may_take_job(&state)
                && let Some(job) = state.queue.pop_front()
            {
                return Some(Assignment::Run(job));
            }
            if state.is_stopping {
                state.threads -= 1;
                return None;
            }
            let is_standby = self.park_in(&mut state, seat);
            self.update_permission(&state);
            drop(state);
            let parked_at = Moment::now();
            std::thread::park_timeout(self.idle_timeout);
            state = self.lock();
            if seat.is_parked.swap(false, Ordering::Relaxed) {
                // Nobody chose it: it aged, or a wake-up came late that was meant for an earlier rest.
                state.idle.retain(|other| !Arc::ptr_eq(other, seat));
                state.standby.retain(|other| !Arc::ptr_eq(other, seat));
                let has_aged = Moment::now().since(parked_at) >= self.idle_timeout;
                if has_aged && !is_standby && self.is_superfluous(&state) {
                    state.threads -= 1;
                    return None;
                }
            }
        }
    }

    /// A loop has stopped, and its thread drives none any longer.
    pub(crate) fn leave_loop(&self) {
        let mut state = self.lock();
        state.driving -= 1;
    }

    /// A thread that is not of the pool's making begins with a loop.
    pub(crate) fn begin_loop(&self) {
        let mut state = self.lock();
        state.threads += 1;
        state.driving += 1;
    }

    /// Lets every thread end once it has nothing to do.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopping = true;
        let parked = state.idle.drain(..).collect::<Vec<_>>();
        let parked = parked.into_iter().chain(state.standby.drain(..)).collect::<Vec<_>>();
        parked.iter().for_each(|seat| seat.is_parked.store(false, Ordering::Relaxed));
        drop(state);
        parked.iter().for_each(|seat| seat.thread.unpark());
    }

    pub(crate) fn census(&self) -> Census {
        let state = self.lock();
        let parked = state.idle.len() + state.standby.len() + state.driving;
        Census {
            threads: state.threads,
            busy: state.threads.saturating_sub(parked),
            queued: state.queue.len(),
        }
    }

    pub(crate) fn has_queue(&self) -> bool {
        !self.lock().queue.is_empty()
    }

    /// Parts jobs into those that the queue has room for and those that it has not. The rest of a response whose handler
    /// has run is always taken: there are no more of them than connections, and its client has its head already.
    fn admit(&self, state: &State, jobs: &mut Vec<Job>) -> (Vec<Job>, Vec<Job>) {
        let mut room = self.queue_capacity.saturating_sub(state.queue.len());
        if jobs.len() <= room {
            return (std::mem::take(jobs), Vec::new());
        }
        jobs.drain(..).partition(|job| {
            let is_taken = room > 0 || matches!(job, Job::Write(_));
            room = room.saturating_sub(1);
            is_taken
        })
    }

    /// Whether a job may be taken, or this thread is needed to stand by.
    fn may_take_job(&self, state: &State) -> bool {
        match self.size {
            Size::Fixed { .. } => true,
            Size::Elastic { standby, .. } => state.standby.len() >= standby || state.is_stopping,
        }
    }

    /// Parks the thread in a list; `true` if it is the standby's.
    fn park_in(&self, state: &mut State, seat: &Arc<Seat>) -> bool {
        let is_standby = matches!(self.size, Size::Elastic { standby, .. } if state.standby.len() < standby);
        let list = if is_standby { &mut state.standby } else { &mut state.idle };
        list.push(Arc::clone(seat));
        seat.is_parked.store(true, Ordering::Relaxed);
        is_standby
    }

    fn is_superfluous(&self, state: &State) -> bool {
        matches!(self.size, Size::Elastic { standby, .. } if state.standby.len() >= standby)
    }

    fn recruit(&self, state: &mut State, wanted: usize) -> usize {
        let Size::Elastic { max, .. } = self.size else { return 0 };
        let missing = wanted.min(max.saturating_sub(state.threads));
        state.threads += missing;
        state.starting += missing;
        missing
    }

    /// Threads for `jobs` that found no idle worker: one for each if the pool is eager, else one if there is no worker at
    /// all that could come to them.
    fn recruit_at_once(&self, state: &mut State, jobs: usize) -> usize {
        let Size::Elastic { standby, eager, .. } = self.size else { return 0 };
        if eager {
            return self.recruit(state, jobs.saturating_sub(state.starting));
        }
        let workers = state.threads.saturating_sub(state.driving + standby);
        if jobs > 0 && workers == 0 { self.recruit(state, 1) } else { 0 }
    }

    fn update_permission(&self, state: &State) {
        if let Size::Elastic { max, standby, .. } = self.size {
            let allowed = state.standby.len() >= standby || state.threads < max;
            if self.may_run_inline.load(Ordering::Relaxed) != allowed {
                self.may_run_inline.store(allowed, Ordering::Relaxed);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
