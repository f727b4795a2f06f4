//! What benches measure alone: how threads hand over to each other, what a loop writes for a request, and what a request takes
//! over a driver of the bench's own. Not for applications; it changes without notice.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{StatusCode, Version};
use tayet_net::{Driver, IoDriver, Moment, PeerAddress, Token, Waker};

use crate::answer::Asked;
use crate::engine::{serve_with, share};
use crate::event_loop::Loop;
use crate::mailbox::{Mailbox, Message};
use crate::pool::{Assignment, Pool};
use crate::pool_size::Size;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::slot::Slot;
use crate::turn_queue::Precedence;
use crate::worker::{self, Call};
use crate::{Engine, EngineConfig, Request, Service};

/// Starts an engine of one loop over `driver`, with default settings.
///
/// # Errors
///
/// When the system gives no thread.
pub fn serve(driver: Box<dyn Driver>, service: Arc<dyn Service>) -> io::Result<Engine> {
    serve_with(&EngineConfig::default(), vec![driver], &[PeerAddress::Unix], service, Arc::new([]))
}

/// A request on its way to a worker.
pub struct Job(worker::Job);

impl Job {
    /// One whose handler is known to take as long as `expected` says, or not known at all.
    pub fn new(expected: Option<Duration>) -> Self {
        let request = Box::new(Request::builder("GET", "/").build().expect("a request without a fault"));
        let asked = Asked { version: Version::HTTP_11, is_head: false, keep_alive: true };
        let call = Call {
            request,
            asked,
            pipe: None,
            queued_at: Moment::now(),
            expected,
            timeout_at_ms: None,
            has_bulkhead: false,
            takes_turns: false,
        };
        Self(worker::Job::Call(call))
    }
}

/// The queue between loops and workers.
pub struct Queue(Pool);

impl Queue {
    /// For exactly so many workers, and up to `capacity` jobs.
    pub fn new(workers: usize, capacity: usize) -> Self {
        Self(Pool::new(Size::Fixed { workers }, capacity, Duration::from_secs(60)))
    }

    /// Hands over what a loop has gathered in a turn.
    pub fn push(&self, jobs: &mut Vec<Job>) {
        let mut batch = std::mem::take(jobs).into_iter().map(|Job(job)| job).collect();
        self.0.dispatch(&mut batch);
        assert!(batch.is_empty(), "the queue was full");
    }

    /// The place of a worker, the calling thread, which must take it before the first job is pushed.
    pub fn seat(&self) -> Worker<'_> {
        self.0.enlist(1);
        self.0.join();
        Worker { pool: &self.0, seat: Seat::of_current() }
    }

    /// Lets the workers end.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A worker of a [`Queue`].
pub struct Worker<'a> {
    pool: &'a Pool,
    seat: Arc<Seat>,
}

impl Worker<'_> {
    /// Waits for a job; `None` when there will be no more.
    pub fn next(&self) -> Option<Job> {
        match self.pool.next(&self.seat, Precedence::Own)? {
            Assignment::Run(job) => Some(Job(job)),
            Assignment::Drive(_) => unreachable!("nobody hands over a loop here"),
        }
    }
}

/// What a loop is told by another thread.
pub struct Letter(Message);

impl Letter {
    /// One about the connection with this index.
    pub fn new(index: u32) -> Self {
        Self(Message::BodyWanted(Token { index, generation: 0 }))
    }
}

/// What a loop has been told.
#[derive(Default)]
pub struct Letters(VecDeque<Message>);

impl Letters {
    /// How many they were; they are gone then.
    pub fn clear(&mut self) -> usize {
        self.0.drain(..).count()
    }
}

/// A loop's mailbox.
pub struct Mail(Mailbox);

impl Mail {
    /// Of a loop that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self(Mailbox::new(waker))
    }

    /// Tells the loop, and wakes it if it sleeps.
    pub fn post(&self, letter: Letter) {
        self.0.post(letter.0);
    }

    /// The loop's, before it sleeps: whether it may.
    pub fn fall_asleep(&self) -> bool {
        self.0.fall_asleep()
    }

    /// The loop's, awake: takes everything into `into`, which must be empty.
    pub fn take(&self, into: &mut Letters) {
        self.0.take(&mut into.0);
    }
}

/// A loop, to do again and again what it writes where other threads may look: what it would have in common with other
/// loops, if it had.
pub struct Writer {
    index: usize,
    shared: Arc<Shared>,
    slot: Slot<Loop>,
    the_loop: Option<Box<Loop>>,
    taken: VecDeque<Message>,
}

impl Writer {
    /// The loops of one engine with `service`, which needs a route.
    ///
    /// # Errors
    ///
    /// When the system gives no poller.
    pub fn of_loops(count: usize, service: Arc<dyn Service>) -> io::Result<Vec<Self>> {
        let drivers = IoDriver::Epoll.open(count)?;
        let shared = Arc::new(share(&EngineConfig::default(), &drivers, service)?);
        let writer = |(index, driver)| Self {
            index,
            shared: Arc::clone(&shared),
            slot: Slot::new(),
            the_loop: Some(Box::new(Loop::new(index, Arc::clone(&shared), driver, Vec::new()))),
            taken: VecDeque::new(),
        };
        Ok(drivers.into_iter().enumerate().map(writer).collect())
    }

    /// What a turn with one request writes, without the request: sleep and waking, mail, lending the loop away, figures.
    pub fn turn(&mut self) {
        let Self { index, shared, slot, the_loop, taken } = self;
        let (mailbox, shard) = (&shared.homes[*index].mailbox, &shared.shards[*index]);
        if mailbox.fall_asleep() {
            shared.monitor.loop_sleeps(*index);
            shared.monitor.loop_wakes(*index, Moment::now());
        }
        mailbox.take(taken);
        shard.received_bytes.add(64);
        let published = slot.publish(the_loop.take().expect("it came back from the last turn"));
        *the_loop = slot.reclaim(published);
        shard.answered(0, StatusCode::OK, 1_000);
        shard.sent_bytes.add(128);
    }
}
