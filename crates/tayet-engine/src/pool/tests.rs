//! What the pool does with threads, jobs and loops.

use std::collections::{HashMap, HashSet};
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread::{JoinHandle, ThreadId};

use tayet_net::{Driver, PeerAddress};
use tayet_testkit::SimulatedNet;

use super::*;
use crate::engine::share;
use crate::turn_queue::{MAX_AWAITED, Precedence};
use crate::worker::{Call, test_job};
use crate::{Captures, EngineConfig, Head, Request, Response, Route, RouteId, Service};

const NEVER: Duration = Duration::from_secs(3_600);

fn pool(size: Size) -> Arc<Pool> {
    Arc::new(Pool::new(size, 1_000, NEVER))
}

fn job(number: usize) -> Job {
    test_job(number, false)
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
        while let Some(assignment) = pool.next(&seat, Precedence::Own) {
            match assignment {
                Assignment::Run(job) => work(job.test_number()),
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
        fn find(&self, _: &Head, _: &mut Captures) -> RouteId {
            RouteId(0)
        }
        fn call(&self, _: &mut Request) -> Response {
            Response::default()
        }
    }
    let drivers: [Box<dyn Driver>; 1] = [Box::new(SimulatedNet::new(0).driver())];
    let limits = crate::Limits { max_connections: 1, ..crate::Limits::default() };
    let config = EngineConfig { limits, ..EngineConfig::default() };
    let shared = Arc::new(share(&config, &drivers, Arc::new(Nothing)).unwrap());
    let [driver] = drivers;
    Box::new(Loop::new(0, shared, driver, vec![PeerAddress::Unix]))
}

#[test]
fn a_job_that_waits_keeps_the_monitor_awake_without_its_loop() {
    let pool = pool(Size::Elastic { max: 4, standby: 1, eager: false });
    let monitor = crate::monitor::Monitor::new(1).unwrap();
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

fn turn_job(number: usize) -> Job {
    test_job(number, true)
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
fn who_lets_others_have_their_turn_does_not_where_the_pool_stops() {
    let pool = pool(Size::Fixed { workers: 9 });
    pool.dispatch(&mut vec![turn_job(0)]);
    pool.turns.begin_wait();
    let take = || pool.take(&mut pool.lock(), Precedence::Others).map(|job| job.test_number());
    assert_eq!(take(), None);
    pool.stop();
    assert_eq!(take(), Some(0));
}

#[test]
fn what_a_thread_has_kept_is_for_the_next_call_if_it_is_of_that_route() {
    let pool = pool(Size::Fixed { workers: 9 });
    let of = |route| pool.next_of(RouteId(route)).map(|job| job.test_number());
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
    assert_eq!(jobs.iter().map(Job::test_number).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(pool.census().queued, 3);
}

/// A job with a number, of route 0, which has a bulkhead.
fn bounded_job(number: usize) -> Job {
    let Job::Call(call) = job(number) else { unreachable!() };
    Job::Call(Call { has_bulkhead: true, ..call })
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
    assert_eq!(pool.lock().queue.test_numbers(), [0, 1, 4]);
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
    let take = |pool: &Pool| pool.lock().queue.take(Precedence::Own).map(|job| job.test_number());
    assert_eq!((take(&pool), take(&pool)), (Some(0), None));
    assert_eq!(pool.leave(RouteId(0)).map(|job| job.test_number()), Some(1));
    pool.dispatch(&mut vec![job(9)]);
    assert!(pool.leave(RouteId(0)).is_none());
    assert_eq!((take(&pool), take(&pool)), (Some(9), Some(2)));
    assert_eq!(pool.leave(RouteId(0)).map(|job| job.test_number()), Some(3));
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
