//! The threads that run what loops hand over, and that stand by to drive a loop which has lost its thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use tayet_net::Moment;

use crate::RouteId;
use crate::bulkhead::Bulkheads;
use crate::census::Census;
use crate::event_loop::Loop;
use crate::pool_size::Size;
use crate::seat::Seat;
use crate::sync::{Mutex, MutexGuard, lock};
use crate::turn_queue::TurnQueue;
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
    turns: TurnQueue,
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
    /// Those that were parked and have been woken, but have not had a core since.
    coming: usize,
    /// Threads that drive a loop.
    driving: usize,
    bulkheads: Bulkheads,
    is_stopping: bool,
}

/// Threads by which the pool may grow in a tick, however few it has.
const ALWAYS_AT_ONCE: usize = 4;

impl State {
    /// What waits, for a thread or behind a bulkhead.
    fn queued(&self) -> usize {
        self.queue.len() + self.bulkheads.waiting()
    }

    /// Takes idle workers out of their list, to be woken once the lock is gone; those that parked last come first.
    fn wake(&mut self, wanted: usize) -> Vec<Arc<Seat>> {
        let woken = self.idle.split_off(self.idle.len() - wanted.min(self.idle.len()));
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
        Self {
            state: CachePadded::new(Mutex::new(State::default())),
            size,
            queue_capacity,
            idle_timeout,
            may_run_inline: AtomicBool::new(matches!(size, Size::Elastic { .. })),
            turns: TurnQueue::default(),
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
        let is_served = state.queue.len() > self.turns.queued();
        let (taken, left) = self.admit(&state, jobs);
        *jobs = left;
        let taken = state.bulkheads.admit(taken);
        let workers = workers_for(&taken, self.turns.room());
        self.turns.note_queued(taken.iter().filter(|job| job.takes_turns()).count());
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
        let is_turn_awaited = self.turns.is_awaited();
        let has_waited = |job: &&Job| job.queued_at() <= waiting_since;
        let is_stuck = |job: &&Job| !(is_turn_awaited && job.takes_turns());
        let waited = state.queue.iter().take_while(has_waited).filter(is_stuck).count();
        let waited = waited.saturating_sub(state.coming);
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

    /// A thread of the pool: waits for something to do. `None` when it is to end. One that lets others have their turn leaves calls
    /// that take turns to them, until it is woken.
    pub(crate) fn next(&self, seat: &Arc<Seat>, mut lets_others: bool) -> Option<Assignment> {
        let mut state = self.lock();
        loop {
            if let Some(the_loop) = state.loops.pop_front() {
                state.driving += 1;
                return Some(Assignment::Drive(the_loop));
            }
            if self.may_take_job(&state)
                && let Some(job) = self.choose(&mut state, lets_others)
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
            lets_others = false;
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
        let is_next = state.loops.is_empty() && state.queue.front().is_some_and(|job| job.calls(route));
        (is_next && self.may_take_job(&state)).then(|| self.take(&mut state, 0)).flatten()
    }

    /// A call of a route with a bulkhead has come to its end on the calling thread. Returns the call that the thread is to go on
    /// with; where there is other work for it, what waits behind the bulkhead comes after that.
    pub(crate) fn leave(&self, route: RouteId) -> Option<Job> {
        let mut state = self.lock();
        let next = state.bulkheads.leave(route)?;
        if state.queue.is_empty() && state.loops.is_empty() && self.may_take_job(&state) {
            return Some(next);
        }
        self.turns.note_queued(usize::from(next.takes_turns()));
        state.queue.push_back(next);
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

    /// Parts jobs into those that the queue has room for and those that it has not. Only requests may be refused: of the
    /// rest of responses, whose clients have their heads already, and of sockets' events there are no more than
    /// connections.
    fn admit(&self, state: &State, jobs: &mut Vec<Job>) -> (Vec<Job>, Vec<Job>) {
        let mut room = self.queue_capacity.saturating_sub(state.queued());
        if jobs.len() <= room {
            return (std::mem::take(jobs), Vec::new());
        }
        jobs.drain(..).partition(|job| {
            let is_taken = room > 0 || !matches!(job, Job::Call(_));
            room = room.saturating_sub(1);
            is_taken
        })
    }

    /// Takes what waits longest, but rather what takes no turns where threads enough wait for theirs. A thread that lets others
    /// have theirs takes nothing else as long as one waits.
    fn choose(&self, state: &mut State, lets_others: bool) -> Option<Job> {
        let lets_others = lets_others && self.turns.is_awaited() && !state.is_stopping;
        let at = if lets_others || self.turns.room() == 0 {
            let has_others = state.queue.len() > self.turns.queued();
            has_others.then(|| state.queue.iter().position(|job| !job.takes_turns())).flatten()
        } else {
            Some(0)
        };
        if at.is_none() && lets_others { None } else { self.take(state, at.unwrap_or(0)) }
    }

    fn take(&self, state: &mut State, at: usize) -> Option<Job> {
        let job = state.queue.remove(at)?;
        if job.takes_turns() {
            self.turns.note_taken();
        }
        Some(job)
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
            let waiting = workers_for(state.queue.make_contiguous(), self.turns.room());
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
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::thread::{JoinHandle, ThreadId};

    use tayet_net::{Driver, PeerAddress};
    use tayet_testkit::SimulatedNet;

    use super::*;
    use crate::answer::Asked;
    use crate::engine::share;
    use crate::turn_queue::MAX_AWAITED;
    use crate::worker::Call;
    use crate::{EngineConfig, Head, Match, Request, Response, Route, Service};

    const NEVER: Duration = Duration::from_secs(3_600);

    fn pool(size: Size) -> Arc<Pool> {
        Arc::new(Pool::new(size, 1_000, NEVER))
    }

    /// A job with a number.
    fn job(number: usize) -> Job {
        let request = Request::builder("GET", &format!("/{number}")).build().unwrap();
        let asked = Asked { version: http::Version::HTTP_11, is_head: false, keep_alive: true };
        let queued_at = Moment::now();
        Job::Call(Box::new(Call {
            request,
            asked,
            pipe: None,
            queued_at,
            expected: None,
            timeout_at_ms: None,
            has_bulkhead: false,
            takes_turns: false,
        }))
    }

    fn number_of(job: &Job) -> usize {
        let Job::Call(call) = job else { panic!("these tests make calls only") };
        call.request.path()[1..].parse().unwrap()
    }

    fn dispatch(pool: &Pool, numbers: impl IntoIterator<Item = usize>) -> usize {
        let mut jobs = numbers.into_iter().map(job).collect();
        let missing = pool.dispatch(&mut jobs);
        assert!(jobs.is_empty(), "the queue was full");
        missing
    }

    fn wait_until(condition: impl Fn() -> bool) {
        while !condition() {
            std::thread::yield_now();
        }
    }

    /// A thread of the pool that does `work` with each job, and lets loops go.
    fn spawn(pool: &Arc<Pool>, work: impl Fn(usize) + Send + 'static) -> JoinHandle<()> {
        spawn_behind(pool, Pool::join, work)
    }

    /// One that does something else first.
    fn spawn_behind(
        pool: &Arc<Pool>,
        first: impl FnOnce(&Pool) + Send + 'static,
        work: impl Fn(usize) + Send + 'static,
    ) -> JoinHandle<()> {
        let pool = Arc::clone(pool);
        std::thread::spawn(move || {
            let seat = Seat::of_current();
            first(&pool);
            while let Some(assignment) = pool.next(&seat, false) {
                match assignment {
                    Assignment::Run(job) => work(number_of(&job)),
                    Assignment::Drive(_) => pool.leave_loop(),
                }
            }
        })
    }

    /// A loop that nobody drives.
    fn any_loop() -> Box<Loop> {
        struct Nothing;
        impl Service for Nothing {
            fn routes(&self) -> Vec<Route> {
                Vec::new()
            }
            fn find(&self, _: &Head) -> Match {
                Match::default()
            }
            fn call(&self, _: &mut Request) -> Response {
                Response::default()
            }
        }
        let drivers: [Box<dyn Driver>; 1] = [Box::new(SimulatedNet::new(0).driver())];
        let limits = crate::Limits { max_connections: 1, ..crate::Limits::default() };
        let config = EngineConfig { limits, ..EngineConfig::default() };
        let shared = Arc::new(share(&config, &drivers, Arc::new(Nothing)));
        let [driver] = drivers;
        Box::new(Loop::new(0, shared, driver, vec![PeerAddress::Unix]))
    }

    #[test]
    fn a_job_that_waits_keeps_the_monitor_awake_without_its_loop() {
        let pool = pool(Size::Elastic { max: 4, standby: 1, eager: false });
        let monitor = crate::monitor::Monitor::new(1);
        let flusher = crate::flusher::Flusher::default();
        assert!(monitor.is_idle(&pool, &flusher));
        dispatch(&pool, [0]);
        assert!(!monitor.is_idle(&pool, &flusher));
    }

    #[test]
    fn a_fixed_pool_has_exactly_its_workers_and_they_run_everything_once() {
        const WORKERS: usize = 4;
        const JOBS: usize = 2_000;
        let pool = pool(Size::Fixed { workers: WORKERS });
        pool.enlist(WORKERS);
        let runs: Arc<Mutex<HashMap<usize, Vec<ThreadId>>>> = Arc::default();
        let threads = (0..WORKERS).map(|_| {
            let runs = Arc::clone(&runs);
            spawn(&pool, move |number| {
                lock(&runs).entry(number).or_default().push(std::thread::current().id());
            })
        });
        let threads = threads.collect::<Vec<_>>();
        for first in (0..JOBS).step_by(10) {
            assert_eq!(dispatch(&pool, first..first + 10), 0);
            assert_eq!(pool.grow(Moment::now()), 0);
            wait_until(|| pool.census().queued < 500);
        }
        wait_until(|| lock(&runs).len() == JOBS);
        assert!(!pool.may_run_inline());
        assert_eq!(pool.census().threads, WORKERS);
        pool.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let runs = lock(&runs);
        assert!(runs.values().all(|by| by.len() == 1), "a job ran twice");
        assert!(runs.values().flatten().collect::<HashSet<_>>().len() <= WORKERS);
    }

    #[test]
    fn all_fixed_workers_work_at_once() {
        let pool = pool(Size::Fixed { workers: 3 });
        pool.enlist(3);
        let meeting = Arc::new(Barrier::new(3));
        let threads = (0..3).map(|_| {
            let meeting = Arc::clone(&meeting);
            spawn(&pool, move |_| {
                meeting.wait();
            })
        });
        let threads = threads.collect::<Vec<_>>();
        // Each job waits for the two others.
        (0..3).for_each(|number| assert_eq!(dispatch(&pool, [number]), 0));
        // The monitor's: one that was let sleep for the sake of a short job is woken.
        wait_until(|| pool.grow(Moment::now()) == 0 && pool.census().queued == 0);
        pool.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn an_elastic_pool_grows_at_once_for_its_first_job_and_else_for_jobs_that_have_waited() {
        let pool = pool(Size::Elastic { max: 5, standby: 1, eager: false });
        let before = Moment::now();
        assert_eq!(dispatch(&pool, [0]), 1, "nobody is there");
        assert_eq!(dispatch(&pool, [1]), 1, "the first will stand by");
        assert_eq!(dispatch(&pool, [2, 3]), 0, "somebody is about to be");
        assert_eq!(pool.grow(before), 0, "nothing has waited yet");
        // Four have waited and one is to stand by; two are starting already.
        assert_eq!(pool.grow(Moment::now()), 3);
        assert_eq!(pool.census().threads, 5);
        assert_eq!(dispatch(&pool, 4..20), 0);
        assert_eq!(pool.grow(Moment::now()), 0, "it never has more than its most");
    }

    #[test]
    fn a_tick_no_more_than_doubles_the_threads() {
        let pool = pool(Size::Elastic { max: 100, standby: 1, eager: false });
        assert_eq!(dispatch(&pool, 0..50), 1);
        let mut grown = Vec::new();
        while pool.census().threads < 51 {
            grown.push(pool.grow(Moment::now()));
            let starting = pool.lock().starting;
            (0..starting).for_each(|_| pool.join());
        }
        assert_eq!(grown, [5, 7, 14, 28]);
    }

    /// Of a route whose calls take turns.
    fn turn_job(number: usize) -> Job {
        let Job::Call(call) = job(number) else { unreachable!("it makes calls") };
        Job::Call(Box::new(Call { takes_turns: true, ..*call }))
    }

    #[test]
    fn while_a_thread_waits_for_its_turn_the_pool_does_not_grow_for_calls_that_would_wait_too() {
        let pool = pool(Size::Elastic { max: 9, standby: 0, eager: false });
        assert_eq!(pool.dispatch(&mut (0..3).map(turn_job).collect()), 1);
        pool.turns.begin_wait();
        assert_eq!(pool.grow(Moment::now()), 0);
        dispatch(&pool, [3, 4]);
        assert_eq!(pool.grow(Moment::now()), 1, "one is starting");
        pool.turns.end_wait();
        assert_eq!(pool.grow(Moment::now()), 3);
    }

    #[test]
    fn calls_that_take_turns_wake_some_workers_and_each_turn_one_more() {
        let pool = pool(Size::Fixed { workers: 9 });
        (0..9).for_each(|_| _ = pool.park_in(&mut pool.lock(), &Seat::of_current()));
        let idle = || pool.lock().idle.len();
        pool.dispatch(&mut (0..20).map(turn_job).collect());
        assert_eq!(idle(), 9 - MAX_AWAITED);
        (0..MAX_AWAITED).for_each(|_| pool.turns.begin_wait());
        pool.dispatch(&mut vec![turn_job(20)]);
        assert_eq!(idle(), 9 - MAX_AWAITED, "threads enough wait");
        dispatch(&pool, [21]);
        assert_eq!(idle(), 9 - MAX_AWAITED - 1, "it would not wait for them");
        pool.call_next_in_turn();
        assert_eq!(idle(), 9 - MAX_AWAITED - 2);
    }

    #[test]
    fn where_threads_enough_wait_for_their_turn_other_work_comes_first() {
        let pool = pool(Size::Fixed { workers: 9 });
        let next = || match pool.next(&Seat::of_current(), false) {
            Some(Assignment::Run(job)) => number_of(&job),
            _ => panic!("there are jobs only"),
        };
        pool.dispatch(&mut vec![turn_job(0), turn_job(1), job(2), turn_job(3), job(4)]);
        assert_eq!(next(), 0);
        (0..MAX_AWAITED).for_each(|_| pool.turns.begin_wait());
        assert_eq!([next(), next(), next()], [2, 4, 1]);
        pool.turns.end_wait();
        assert_eq!((next(), pool.turns.queued()), (3, 0));
    }

    #[test]
    fn who_has_had_its_share_of_turns_leaves_those_calls_while_others_wait() {
        let pool = pool(Size::Fixed { workers: 9 });
        pool.dispatch(&mut vec![turn_job(0), job(1), turn_job(2)]);
        pool.turns.begin_wait();
        let choose = || pool.choose(&mut pool.lock(), true).map(|job| number_of(&job));
        assert_eq!([choose(), choose()], [Some(1), None]);
        pool.turns.end_wait();
        assert_eq!(choose(), Some(0));
        pool.turns.begin_wait();
        pool.stop();
        assert_eq!(choose(), Some(2));
    }

    #[test]
    fn what_a_thread_has_kept_is_for_the_next_call_if_it_is_of_that_route() {
        let pool = pool(Size::Fixed { workers: 9 });
        let of = |route| pool.next_of(RouteId(route)).map(|job| number_of(&job));
        assert_eq!(of(0), None);
        pool.dispatch(&mut vec![turn_job(0), turn_job(1)]);
        assert_eq!((of(1), of(0)), (None, Some(0)));
        pool.begin_loop();
        pool.drive(any_loop());
        assert_eq!(of(0), None, "a loop comes first");
    }

    #[test]
    fn a_worker_that_was_woken_and_has_no_core_yet_counts_for_what_waits() {
        let pool = pool(Size::Elastic { max: 10, standby: 0, eager: false });
        pool.enlist(1);
        pool.join();
        // It is woken, and does nothing.
        pool.park_in(&mut pool.lock(), &Seat::of_current());
        let later = Moment::now() + NEVER;
        assert_eq!((dispatch(&pool, [0]), pool.grow(later)), (0, 0));
        assert_eq!((dispatch(&pool, [1]), pool.grow(later)), (0, 1));
    }

    #[test]
    fn an_eager_pool_grows_for_each_job_that_finds_nobody() {
        let pool = pool(Size::Elastic { max: 5, standby: 0, eager: true });
        assert_eq!(dispatch(&pool, [0]), 1);
        assert_eq!(dispatch(&pool, [1, 2]), 2, "the first may block for long");
        assert_eq!(dispatch(&pool, 3..9), 2, "up to its most");
    }

    #[test]
    fn a_thread_that_could_not_be_started_is_missed_again() {
        let pool = pool(Size::Elastic { max: 2, standby: 0, eager: false });
        assert_eq!(dispatch(&pool, [0]), 1);
        pool.discharge();
        assert_eq!(pool.grow(Moment::now()), 1);
    }

    #[test]
    fn past_its_capacity_calls_stay_with_the_loop() {
        let pool = Pool::new(Size::Fixed { workers: 1 }, 3, NEVER);
        let mut jobs = (0..5).map(job).collect::<Vec<_>>();
        pool.dispatch(&mut jobs);
        assert_eq!(jobs.iter().map(number_of).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(pool.census().queued, 3);
    }

    /// A job with a number, of route 0, which has a bulkhead.
    fn bounded_job(number: usize) -> Job {
        let Job::Call(call) = job(number) else { unreachable!() };
        Job::Call(Box::new(Call { has_bulkhead: true, ..*call }))
    }

    fn bounded_pool(most: usize) -> Pool {
        let size = Size::Elastic { max: 9, standby: 0, eager: false };
        Pool::new(size, 5, NEVER).with_bulkheads(Bulkheads::new([(RouteId(0), most)]))
    }

    #[test]
    fn what_waits_behind_a_bulkhead_asks_for_no_thread_and_lets_others_pass() {
        let pool = bounded_pool(2);
        let mut jobs = (0..4).map(bounded_job).chain([job(4)]).collect::<Vec<_>>();
        assert_eq!(pool.dispatch(&mut jobs), 1);
        assert_eq!(pool.census().queued, 5);
        let queued = pool.lock().queue.iter().map(number_of).collect::<Vec<_>>();
        assert_eq!(queued, [0, 1, 4]);
        assert_eq!(pool.grow(Moment::now()), 2, "a thread for each that may run, of which one was asked for");
        // Those behind the bulkhead fill the queue, too.
        let mut more = vec![job(5)];
        pool.dispatch(&mut more);
        assert_eq!(more.len(), 1);
    }

    #[test]
    fn who_leaves_a_bulkhead_goes_on_with_the_next_unless_there_is_other_work() {
        let pool = bounded_pool(1);
        pool.dispatch(&mut (0..4).map(bounded_job).collect());
        let take = |pool: &Pool| pool.lock().queue.pop_front().map(|job| number_of(&job));
        assert_eq!((take(&pool), take(&pool)), (Some(0), None));
        assert_eq!(pool.leave(RouteId(0)).map(|job| number_of(&job)), Some(1));
        pool.dispatch(&mut vec![job(9)]);
        assert!(pool.leave(RouteId(0)).is_none());
        assert_eq!((take(&pool), take(&pool)), (Some(9), Some(2)));
        assert_eq!(pool.leave(RouteId(0)).map(|job| number_of(&job)), Some(3));
        assert!(pool.leave(RouteId(0)).is_none());
        assert_eq!(pool.census().queued, 0);
        pool.dispatch(&mut vec![bounded_job(4)]);
        assert_eq!(take(&pool), Some(4), "there is room again");
    }

    #[test]
    fn the_standby_is_kept_for_loops_and_filled_again() {
        let pool = pool(Size::Elastic { max: 4, standby: 1, eager: false });
        assert_eq!(pool.grow(Moment::now()), 1);
        let first = spawn(&pool, |_| {});
        wait_until(|| pool.lock().standby.len() == 1);
        assert!(pool.may_run_inline());

        // A job is not the standby's: another thread is wanted for it.
        assert_eq!(dispatch(&pool, [0]), 1);
        let (ran, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let second = spawn(&pool, {
            let (ran, running) = (Arc::clone(&ran), Arc::clone(&running));
            move |_| {
                ran.fetch_add(1, Ordering::SeqCst);
                wait_until(|| running.load(Ordering::SeqCst) > 0);
            }
        });
        wait_until(|| ran.load(Ordering::SeqCst) == 1);
        assert_eq!(pool.lock().standby.len(), 1);

        // A loop is: the standby takes it, and the next tick asks for another.
        pool.begin_loop();
        assert_eq!(pool.drive(any_loop()), 0);
        wait_until(|| pool.lock().driving == 0);
        running.store(1, Ordering::SeqCst);
        wait_until(|| pool.grow(Moment::now()) == 0 && pool.lock().standby.len() == 1);
        pool.stop();
        [first, second].into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn without_a_standby_and_without_room_for_one_nothing_runs_inline() {
        let pool = pool(Size::Elastic { max: 2, standby: 1, eager: false });
        pool.begin_loop();
        assert_eq!(pool.grow(Moment::now()), 1);
        assert!(!pool.may_run_inline(), "the standby has not come yet, and no other may");
        let standby = spawn(&pool, |_| {});
        wait_until(|| pool.may_run_inline());
        pool.stop();
        standby.join().unwrap();
    }

    #[test]
    fn the_worker_that_parked_last_is_woken_first() {
        let pool = pool(Size::Fixed { workers: 3 });
        pool.enlist(3);
        let by = Arc::new(Mutex::new(Vec::new()));
        let mut threads = Vec::new();
        for count in 1..=3 {
            let by = Arc::clone(&by);
            threads.push(spawn(&pool, move |_| lock(&by).push(std::thread::current().id())));
            wait_until(|| pool.lock().idle.len() == count);
        }
        for number in 0..10 {
            dispatch(&pool, [number]);
            wait_until(|| lock(&by).len() == number + 1 && pool.lock().idle.len() == 3);
        }
        assert_eq!(*lock(&by), [threads[2].thread().id(); 10]);
        pool.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn workers_age_and_go_until_the_standby_is_left() {
        let size = Size::Elastic { max: 9, standby: 2, eager: false };
        let pool = Arc::new(Pool::new(size, 1_000, Duration::from_millis(5)));
        pool.enlist(6);
        let threads = (0..6).map(|_| spawn(&pool, |_| {})).collect::<Vec<_>>();
        wait_until(|| pool.census().threads == 2 && pool.lock().standby.len() == 2);
        assert!(pool.may_run_inline());
        wait_until(|| threads.iter().filter(|thread| thread.is_finished()).count() == 4);
        pool.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(pool.census().threads, 0);
    }

    #[test]
    fn a_fixed_pool_does_not_age() {
        let pool = Arc::new(Pool::new(Size::Fixed { workers: 2 }, 1_000, Duration::from_millis(1)));
        pool.enlist(2);
        let rests = Arc::new(AtomicUsize::new(0));
        let threads = (0..2).map(|_| {
            let rests = Arc::clone(&rests);
            spawn(&pool, move |_| {
                rests.fetch_add(1, Ordering::SeqCst);
            })
        });
        let threads = threads.collect::<Vec<_>>();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(pool.census().threads, 2);
        dispatch(&pool, 0..4);
        wait_until(|| rests.load(Ordering::SeqCst) == 4);
        pool.stop();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn stopping_runs_what_is_queued_and_ends_everyone() {
        let pool = pool(Size::Elastic { max: 9, standby: 2, eager: false });
        pool.enlist(4);
        let ran = Arc::new(AtomicUsize::new(0));
        let work = {
            let ran = Arc::clone(&ran);
            move |_| {
                ran.fetch_add(1, Ordering::SeqCst);
            }
        };
        let mut threads = (0..3).map(|_| spawn(&pool, work.clone())).collect::<Vec<_>>();
        wait_until(|| pool.lock().standby.len() == 2 && pool.lock().idle.len() == 1);
        dispatch(&pool, 0..50);
        pool.stop();
        // One that was about to start finds it stopped.
        threads.push(spawn(&pool, work));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((ran.load(Ordering::SeqCst), pool.census()), (50, Census::default()));
    }

    #[test]
    fn under_stress_every_job_runs_once_and_every_loop_is_driven() {
        const DISPATCHERS: usize = 3;
        const JOBS: usize = 3_000;
        const LOOPS: usize = 50;
        const MAX: usize = 8;
        let size = Size::Elastic { max: MAX, standby: 1, eager: false };
        let pool = Arc::new(Pool::new(size, DISPATCHERS * JOBS, Duration::from_millis(1)));
        let runs = Arc::new((0..DISPATCHERS * JOBS).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
        let threads = Arc::new(Mutex::new(Vec::new()));
        let work = {
            let runs = Arc::clone(&runs);
            move |number: usize| {
                runs[number].fetch_add(1, Ordering::SeqCst);
            }
        };
        let start = {
            let (pool, threads, work) = (Arc::clone(&pool), Arc::clone(&threads), work.clone());
            move |missing| (0..missing).for_each(|_| lock(&threads).push(spawn(&pool, work.clone())))
        };
        let dispatchers = (0..DISPATCHERS).map(|dispatcher| {
            let (pool, start) = (Arc::clone(&pool), start.clone());
            std::thread::spawn(move || {
                for first in (0..JOBS).step_by(3) {
                    start(dispatch(&pool, (first..first + 3).map(|number| dispatcher * JOBS + number)));
                }
            })
        });
        let dispatchers = dispatchers.collect::<Vec<_>>();
        // The monitor's part, with loops that lose their threads.
        let mut loops = 0;
        while dispatchers.iter().any(|dispatcher| !dispatcher.is_finished()) || pool.has_queue() {
            std::thread::sleep(Duration::from_micros(200));
            start(pool.grow(Moment::now()));
            if loops < LOOPS && pool.may_run_inline() {
                loops += 1;
                pool.begin_loop();
                start(pool.drive(any_loop()));
                lock(&threads).push(spawn_behind(&pool, |_| {}, work.clone()));
            }
            assert!(pool.lock().threads <= MAX + loops);
        }
        wait_until(|| runs.iter().all(|ran| ran.load(Ordering::SeqCst) == 1));
        wait_until(|| pool.lock().loops.is_empty());
        pool.stop();
        dispatchers.into_iter().for_each(|dispatcher| dispatcher.join().unwrap());
        lock(&threads).drain(..).for_each(|thread| thread.join().unwrap());
        assert!(runs.iter().all(|ran| ran.load(Ordering::SeqCst) == 1));
    }
}
