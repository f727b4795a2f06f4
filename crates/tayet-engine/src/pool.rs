//! The threads that run what loops hand over, and that stand by to drive a loop which has lost its thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use smallvec::SmallVec;
use tayet_net::Moment;

use crate::RouteId;
use crate::bulkhead::Bulkheads;
use crate::census::Census;
use crate::event_loop::Loop;
use crate::job_queue::JobQueue;
use crate::pool_size::Size;
use crate::seat::Seat;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::turn_queue::{Precedence, TurnQueue};
use crate::worker::{Job, workers_for};

/// What a thread of the pool is to do next.
pub(crate) enum Assignment {
    Drive(Box<Loop>),
    Run(Job),
}

/// Threads, and what waits for them.
pub(crate) struct Pool {
    /// Written for each batch of jobs, and so kept away from what loops read for each request.
    state: CachePadded<Mutex<State>>,
    size: Size,
    queue_capacity: usize,
    idle_timeout: Duration,
    /// Whether a loop may run a handler itself: someone stands by to go on with the loop, or can be had.
    may_run_inline: AtomicBool,
    /// Its threads that wait for what one of them at a time can have.
    turns: Arc<TurnQueue>,
}

#[derive(Default)]
struct State {
    queue: JobQueue,
    loops: VecDeque<Box<Loop>>,
    /// Parked workers; the one that parked last is woken first, so that the others may age and go.
    idle: Vec<Arc<Seat>>,
    /// Parked threads that are kept for loops.
    standby: Vec<Arc<Seat>>,
    /// All threads of the pool, and those about to be.
    threads: usize,
    /// Of those, the ones that are about to be.
    starting: usize,
    /// Those that were parked and have been woken, but have not had a core since.
    coming: usize,
    /// Threads that drive a loop.
    driving: usize,
    bulkheads: Bulkheads,
    is_stopping: bool,
}

/// More workers than these are seldom woken at once: for them memory is asked for.
const MOSTLY_AT_ONCE: usize = 4;

/// Threads by which the pool may grow in a tick, however few it has.
const ALWAYS_AT_ONCE: usize = 4;

impl State {
    /// What waits, for a thread or behind a bulkhead.
    fn queued(&self) -> usize {
        self.queue.len() + self.bulkheads.waiting()
    }

    /// Takes idle workers out of their list, to be woken once the lock is gone; those that parked last come first.
    fn wake(&mut self, wanted: usize) -> SmallVec<[Arc<Seat>; MOSTLY_AT_ONCE]> {
        let stay = self.idle.len() - wanted.min(self.idle.len());
        let woken = self.idle.drain(stay..).collect::<SmallVec<_>>();
        self.note_woken(&woken);
        woken
    }

    fn note_woken(&mut self, woken: &[Arc<Seat>]) {
        self.coming += woken.len();
        woken.iter().for_each(|seat| seat.is_parked.store(false, Ordering::Relaxed));
    }
}

impl Pool {
    pub(crate) fn new(size: Size, queue_capacity: usize, idle_timeout: Duration) -> Self {
        let turns = Arc::<TurnQueue>::default();
        let state = State { queue: JobQueue::new(Arc::clone(&turns)), ..State::default() };
        Self {
            state: CachePadded::new(Mutex::new(state)),
            size,
            queue_capacity,
            idle_timeout,
            may_run_inline: AtomicBool::new(matches!(size, Size::Elastic { .. })),
            turns,
        }
    }

    pub(crate) fn with_bulkheads(self, bulkheads: Bulkheads) -> Self {
        self.lock().bulkheads = bulkheads;
        self
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
        // With a queue and idle workers, one of the others is on its way to it. Calls that take turns wait for theirs.
        let is_served = state.queue.has_turnless();
        let mut left = self.take_surplus(&state, jobs);
        state.bulkheads.admit(jobs);
        let workers = workers_for(jobs, self.turns.room());
        state.queue.append(jobs);
        let missing = if state.idle.is_empty() { self.recruit_at_once(&mut state, workers) } else { 0 };
        let woken = state.wake(workers - usize::from(is_served && workers > 0));
        drop(state);
        woken.iter().for_each(|seat| seat.thread.unpark());
        jobs.append(&mut left);
        missing
    }

    /// Hands a loop, taken from its thread, to a standby thread, or an idle one. Returns how many threads must be started
    /// for it.
    pub(crate) fn drive(&self, the_loop: Box<Loop>) -> usize {
        let mut state = self.lock();
        state.driving -= 1;
        state.loops.push_back(the_loop);
        let woken = state.standby.pop().or_else(|| state.idle.pop());
        state.note_woken(woken.as_slice());
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
    /// Calls that were thought to be short may have proved otherwise: the workers that were let sleep for them are woken. A
    /// thread that waits for its turn is the next to come for what is queued, and another could only wait behind it; so is one
    /// that was woken or started and waits for a core.
    pub(crate) fn grow(&self, waiting_since: Moment) -> usize {
        let mut state = self.lock();
        let waited = state.queue.overdue(waiting_since).saturating_sub(state.coming);
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
        // Twice as many a tick, at most: the first of them may show that the rest could only wait for each other.
        let most = short + state.threads.max(ALWAYS_AT_ONCE);
        let wanted = (short + waited).saturating_sub(state.starting).min(most);
        let missing = self.recruit(state, wanted);
        self.update_permission(state);
        missing
    }

    /// A thread of the pool: waits for something to do. `None` when it is to end. Where others come first it leaves calls that take
    /// turns to them, until it is woken.
    pub(crate) fn next(&self, seat: &Arc<Seat>, mut precedence: Precedence) -> Option<Assignment> {
        let mut state = self.lock();
        loop {
            if let Some(the_loop) = state.loops.pop_front() {
                state.driving += 1;
                return Some(Assignment::Drive(the_loop));
            }
            if let Some(job) = self.take(&mut state, precedence) {
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
            precedence = Precedence::Own;
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
            } else {
                state.coming -= 1;
            }
        }
    }

    /// What comes next, if it is a call of this route.
    pub(crate) fn next_of(&self, route: RouteId) -> Option<Job> {
        let mut state = self.lock();
        let is_free = state.loops.is_empty() && self.may_take_job(&state);
        is_free.then(|| state.queue.take_call_of(route)).flatten()
    }

    /// A call of a route with a bulkhead has come to its end on the calling thread. Returns the call that the thread is to go on
    /// with; where there is other work for it, what waits behind the bulkhead comes after that.
    pub(crate) fn leave(&self, route: RouteId) -> Option<Job> {
        let mut state = self.lock();
        let next = state.bulkheads.leave(route)?;
        if state.queue.is_empty() && state.loops.is_empty() && self.may_take_job(&state) {
            return Some(next);
        }
        state.queue.push(next);
        None
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
        state.note_woken(&parked);
        drop(state);
        parked.iter().for_each(|seat| seat.thread.unpark());
    }

    pub(crate) fn census(&self) -> Census {
        let state = self.lock();
        let parked = state.idle.len() + state.standby.len() + state.driving;
        Census { threads: state.threads, busy: state.threads.saturating_sub(parked), queued: state.queued() }
    }

    /// A thread has got its turn, and another may come to wait for the next.
    pub(crate) fn call_next_in_turn(&self) {
        let mut state = self.lock();
        let woken = state.wake(self.turns.queued().min(1));
        drop(state);
        woken.iter().for_each(|seat| seat.thread.unpark());
    }

    pub(crate) fn turns(&self) -> &TurnQueue {
        &self.turns
    }

    pub(crate) fn has_queue(&self) -> bool {
        !self.lock().queue.is_empty()
    }

    /// Takes those jobs out that the queue has no room for. Only requests may be refused: of the rest of responses, whose
    /// clients have their heads already, and of sockets' events there are no more than connections.
    fn take_surplus(&self, state: &State, jobs: &mut Vec<Job>) -> Vec<Job> {
        let mut room = self.queue_capacity.saturating_sub(state.queued());
        if jobs.len() <= room {
            return Vec::new();
        }
        let is_refused = |job: &mut Job| {
            let has_room = room > 0;
            room = room.saturating_sub(1);
            !has_room && matches!(job, Job::Call(_))
        };
        jobs.extract_if(.., is_refused).collect()
    }

    fn take(&self, state: &mut State, precedence: Precedence) -> Option<Job> {
        let precedence = if state.is_stopping { Precedence::Own } else { precedence };
        self.may_take_job(state).then(|| state.queue.take(precedence)).flatten()
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

    /// Threads for `jobs` that found no idle worker: one for each, and for those that still wait, if the pool is eager,
    /// else one if there is no worker at all that could come to them.
    fn recruit_at_once(&self, state: &mut State, jobs: usize) -> usize {
        let Size::Elastic { standby, eager, .. } = self.size else { return 0 };
        if eager {
            // Each of those that are starting will take one.
            let waiting = state.queue.workers();
            return self.recruit(state, waiting.saturating_sub(state.starting));
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

#[cfg(all(test, not(loom)))]
mod tests;
