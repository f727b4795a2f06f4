//! A loop, its workers and its monitor, all played by one thread.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tayet_net::{Driver, PeerAddress};
use tayet_testkit::{Random, SimulatedNet};

use super::application::{Application, ReadBefore};
use super::sockets::Diary;
use crate::channel::Channel;
use crate::engine::share;
use crate::event_loop::{Due, Loop, Step};
use crate::mailbox::Message;
use crate::pool::{Assignment, Pool};
use crate::pool_size::Size;
use crate::route_class::Overrun;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::socket_event::SocketEvent;
use crate::sync::{Mutex, lock};
use crate::turn_queue::Precedence;
use crate::worker::{Call, Job, Worker, answer_late};
use crate::{EngineConfig, ExecutionModel, Limits};

/// Threads that the pool believes to be starting, so that it never asks for real ones.
const IMAGINED_THREADS: usize = 1_000_000;

/// How long a handler that finds nothing of a body rests before it looks again.
const READER_REST: Duration = Duration::from_millis(1);

/// How the threads that are played behave.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// How many calls in a thousand lose their loop to another thread (in the task pool only).
    pub(super) takeovers: u32,
    /// How many workers in a thousand take their time between an answer and the report of it.
    pub(super) late_reports: u32,
    /// How many answers in a thousand are made while their loop is about to look for them.
    pub(super) looking_loops: u32,
    /// What a handler takes, in microseconds.
    pub(super) handler_us: RangeInclusive<u64>,
    /// How many workers there are.
    pub(super) workers: usize,
    /// Most that a handler reads of a streamed body in one go.
    pub(super) read_bytes: usize,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            takeovers: 200,
            late_reports: 200,
            looking_loops: 200,
            handler_us: 0..=3_000,
            workers: 8,
            read_bytes: 10_000,
        }
    }
}

/// A server of one loop in a simulation.
pub(super) struct Stage {
    pub(super) net: SimulatedNet,
    pub(super) shared: Arc<Shared>,
    /// What happened on its WebSockets.
    pub(super) diary: Diary,
    crew: Crew,
    the_loop: Box<Loop>,
}

/// The workers.
#[derive(Clone)]
struct Crew {
    net: SimulatedNet,
    shared: Arc<Shared>,
    habits: Arc<Habits>,
    state: Arc<Mutex<CrewState>>,
}

struct CrewState {
    random: Random,
    worker: Worker,
    seat: Arc<Seat>,
    busy: usize,
}

impl Stage {
    pub(super) fn new(seed: u64, execution: ExecutionModel, limits: Limits, habits: Habits) -> Self {
        Self::with_config(seed, EngineConfig { execution, limits, ..EngineConfig::default() }, habits)
    }

    /// A server that is not all defaults.
    pub(super) fn with_config(seed: u64, config: EngineConfig, habits: Habits) -> Self {
        config.limits.validate().expect("limits of a test are valid");
        let net = SimulatedNet::new(seed);
        let mut random = Random::new(!seed);
        let diary = Diary::default();
        let random_of_application = Mutex::new(random.fork());
        let application =
            Application { net: net.clone(), random: random_of_application, diary: Arc::clone(&diary) };
        let drivers: [Box<dyn Driver>; 1] = [Box::new(net.driver())];
        let mut shared = share(&config, &drivers, Arc::new(application)).expect("there is a descriptor");
        shared.pool = imagined_pool(config.execution, &config.limits);
        shared.clock.simulated = Some(Arc::new({
            let net = net.clone();
            move || net.now()
        }));
        for home in &mut shared.homes {
            Arc::get_mut(home).expect("nobody else has it yet").clock = shared.clock.clone();
        }
        let shared = Arc::new(shared);
        let [driver] = drivers;
        let the_loop = Box::new(Loop::new(0, Arc::clone(&shared), driver, vec![PeerAddress::Unix]));
        let worker = Worker::new(Arc::clone(&shared));
        let state = CrewState { random, worker, seat: Seat::of_current(), busy: 0 };
        let crew = Crew {
            net: net.clone(),
            shared: Arc::clone(&shared),
            habits: Arc::new(habits),
            state: Arc::new(Mutex::new(state)),
        };
        net.before_wait({
            let crew = crew.clone();
            move || crew.take_jobs()
        });
        Self { net, shared, diary, crew, the_loop }
    }

    /// Has the server shut down at this time.
    pub(super) fn drain_at(&self, at: Duration) {
        let shared = Arc::clone(&self.shared);
        self.net.at(at, move || {
            shared.is_shutting_down.store(true, Ordering::SeqCst);
            shared.homes[0].mailbox.post(Message::Drain);
        });
    }

    /// How many workers have something to do.
    pub(super) fn busy_workers(&self) -> usize {
        lock(&self.crew.state).busy
    }

    /// Runs until the loop has stopped, for which [`Stage::drain_at`] must have been called.
    pub(super) fn run(mut self) -> Self {
        self.the_loop.arrive();
        while let Step::Call(due) = self.the_loop.step() {
            let time = self.crew.handler_time();
            let mut request = match due {
                Due::Request(request) => request,
                Due::Event { channel, event } => {
                    self.handle(channel, event, time);
                    continue;
                }
            };
            if self.crew.takes_over() {
                self.the_loop.note_takeover(Overrun::Blocked);
                let shared = Arc::clone(&self.shared);
                self.net.after(time, move || {
                    let mut place = None;
                    let response = std::mem::take(shared.handle(&mut request, &mut place));
                    answer_late(request, response);
                });
                self.the_loop.arrive();
            } else {
                self.net.pass(time);
                let mut place = None;
                let response = self.shared.handle(&mut request, &mut place);
                self.the_loop.answered(request, response);
            }
        }
        assert_eq!(self.shared.open_connections.load(Ordering::Relaxed), 0, "connections are left open");
        self
    }
}

impl Stage {
    /// Calls a socket's handler, on the loop or, if that is taken, beside it.
    fn handle(&mut self, channel: Arc<Channel>, event: SocketEvent, time: Duration) {
        if self.crew.takes_over() {
            self.the_loop.note_takeover(Overrun::Blocked);
            let shared = Arc::clone(&self.shared);
            self.net.after(time, move || {
                event.handle(&channel, &shared);
                channel.tell_handled(None);
            });
            self.the_loop.arrive();
        } else {
            self.net.pass(time);
            event.handle(&channel, &self.shared);
            self.shared.sessions().handled(&mut self.the_loop, &channel);
        }
    }
}

impl Crew {
    fn handler_time(&self) -> Duration {
        Duration::from_micros(lock(&self.state).random.within(self.habits.handler_us.clone()))
    }

    fn takes_over(&self) -> bool {
        let may_lose = matches!(self.shared.execution, ExecutionModel::TaskPool { .. });
        may_lose && lock(&self.state).random.chance(self.habits.takeovers)
    }

    /// Idle workers take what waits in the pool.
    fn take_jobs(&self) {
        loop {
            let mut state = lock(&self.state);
            if state.busy == self.habits.workers || self.shared.pool.census().queued == 0 {
                return;
            }
            let Some(Assignment::Run(job)) = self.shared.pool.next(&state.seat, Precedence::Own) else {
                return;
            };
            state.busy += 1;
            drop(state);
            self.work_on(job, ReadBefore::default(), Duration::ZERO);
        }
    }

    /// A worker goes on with a job after its handler's time and `rest`: while a body arrives, to read some of it.
    fn work_on(&self, job: Job, read: ReadBefore, rest: Duration) {
        let crew = self.clone();
        self.net.after(self.handler_time() + rest, move || match job {
            Job::Call(call) if call.pipe.is_some() => crew.read_on(call, read),
            job => crew.finish(job),
        });
    }

    /// Reads some of a body that arrives. At its end the handler is called.
    fn read_on(&self, mut call: Call, mut read: ReadBefore) {
        let ignores_body =
            ["/Ignoring/", "/Deferred/"].iter().any(|path| call.request.path().starts_with(path));
        let mut part = vec![0; lock(&self.state).random.size(1..=self.habits.read_bytes)];
        let mut rest = Duration::ZERO;
        let has_more = !ignores_body
            && match call.request.stream().try_read(&mut part) {
                Ok(Some(count)) => {
                    read.bytes.extend_from_slice(&part[..count]);
                    count > 0
                }
                Ok(None) => {
                    rest = READER_REST;
                    true
                }
                Err(error) => {
                    read.error = Some(error);
                    false
                }
            };
        if has_more {
            self.work_on(Job::Call(call), read, rest);
        } else {
            call.request.extensions_mut().insert(read);
            self.finish(Job::Call(call));
        }
    }

    /// Does the job, and tells the loop of it, at once or a little later.
    fn finish(&self, job: Job) {
        let mut state = lock(&self.state);
        let is_looking = state.random.chance(self.habits.looking_loops);
        self.shared.homes[0].takes_answers.store(is_looking, Ordering::Relaxed);
        let report = state.worker.run(job);
        let is_late = state.random.chance(self.habits.late_reports);
        drop(state);
        let crew = self.clone();
        let tell = move || {
            if let Some(report) = report {
                report.tell(&crew.shared);
            }
            lock(&crew.state).busy -= 1;
            crew.take_jobs();
        };
        if is_late { self.net.after(self.handler_time(), tell) } else { tell() }
    }
}

/// A pool without threads: its jobs are taken by the crew.
fn imagined_pool(execution: ExecutionModel, limits: &Limits) -> Pool {
    let size = match execution {
        ExecutionModel::TaskPool { max_threads } => {
            Size::Elastic { max: max_threads, standby: 0, eager: false }
        }
        ExecutionModel::ThreadPool { threads } => Size::Fixed { workers: threads },
        ExecutionModel::Inline => Size::Elastic { max: IMAGINED_THREADS, standby: 0, eager: true },
    };
    let pool = Pool::new(size, limits.queue_capacity, Duration::from_millis(limits.worker_idle_timeout_ms));
    pool.enlist(IMAGINED_THREADS);
    pool
}
