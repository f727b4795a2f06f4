//! The handle of a simulation.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tayet_net::Moment;

use crate::world::{Event, Happened, World};
use crate::{Client, Faults, SimulatedDriver, Transcript};

/// A simulated network with its clock. Its handles are cheap to clone, and all may be used at any time, by the test and by
/// what the test has scheduled.
#[derive(Clone)]
pub struct SimulatedNet {
    world: Arc<Mutex<World>>,
    before_wait: Arc<Mutex<Option<Hook>>>,
}

/// What the clock shows at the start: a server may want to look back from there.
const STARTED: Duration = Duration::from_secs(1_000);

type Hook = Box<dyn FnMut() + Send>;

/// A client of a [`SimulatedNet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub(crate) usize);

impl SimulatedNet {
    /// A network in which nothing has happened; everything that is left to chance comes from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { world: Arc::new(Mutex::new(World::new(seed))), before_wait: Arc::default() }
    }

    /// The driver of the server's loop. There is one listener, with index 0, to which all clients connect.
    pub fn driver(&self) -> SimulatedDriver {
        SimulatedDriver::new(self.clone())
    }

    /// Says what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// The process has no descriptors for new connections between these times.
    pub fn exhaust_descriptors(&self, from: Duration, until: Duration) {
        self.lock().exhausted = Some((from, until));
    }

    /// Adds a client.
    pub fn add(&self, client: Client) -> ClientId {
        ClientId(self.lock().add_client(client))
    }

    /// Does something at this time since the start, or now if that is past: while the loop waits, or while time
    /// [passes](Self::pass).
    pub fn at(&self, at: Duration, call: impl FnOnce() + Send + 'static) {
        let mut world = self.lock();
        let at = at.max(world.now);
        world.schedule(at, Event::Call(Box::new(call)));
    }

    /// Does something after this time.
    pub fn after(&self, time: Duration, call: impl FnOnce() + Send + 'static) {
        let at = self.elapsed() + time;
        self.at(at, call);
    }

    /// Does something before each wait of the driver, in place of what was said before: the time to take what the loop has
    /// handed over.
    pub fn before_wait(&self, hook: impl FnMut() + Send + 'static) {
        *self.before_wait.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// The time since the start, by the simulation's clock.
    pub fn elapsed(&self) -> Duration {
        self.lock().now
    }

    /// The simulation's clock, which has begun some time ago.
    pub fn now(&self) -> Moment {
        Moment::from_ns(0) + STARTED + self.elapsed()
    }

    /// Lets time pass, and happen what happens in it.
    pub fn pass(&self, time: Duration) {
        let until = self.elapsed() + time;
        while self.take_event(until) {}
        let mut world = self.lock();
        world.now = world.now.max(until);
    }

    /// What a client has seen.
    pub fn transcript(&self, client: ClientId) -> Transcript {
        self.lock().wires[client.0].transcript.clone()
    }

    /// When the server closed this connection, if it has.
    pub fn closed_at(&self, client: ClientId) -> Option<Duration> {
        self.lock().wires[client.0].closed_at
    }

    /// How many of a client's bytes the server has been given.
    pub fn delivered_bytes(&self, client: ClientId) -> usize {
        self.lock().wires[client.0].delivered_bytes
    }

    /// How many of a client's bytes others than the driver have received.
    pub fn lent_bytes(&self, client: ClientId) -> usize {
        self.lock().wires[client.0].lent_bytes
    }

    /// How many waits of the driver ended because their time was up, and for no other reason.
    pub fn timeouts(&self) -> u64 {
        self.lock().timeouts
    }

    /// Has the first event up to `until` happen; `false` if there is none.
    pub(crate) fn take_event(&self, until: Duration) -> bool {
        // Taken out of the lock first: a call may do anything.
        let happened = self.lock().take_event(until);
        if let Some(Happened::Call(call)) = happened {
            call();
            return true;
        }
        happened.is_some()
    }

    /// What the test does before each wait of the driver.
    pub(crate) fn call_before_wait(&self) {
        let hook = self.before_wait.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut hook) = hook {
            hook();
            self.before_wait.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(hook);
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        // A panic is the failure of the test; what it leaves behind is still good to be looked at.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SimulatedNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedNet").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}
