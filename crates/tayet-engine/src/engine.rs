//! Starting and stopping: listeners, loops, threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use tayet_net::{Address, Driver, IoDriver, Listener, PeerAddress, make_room_for_descriptors};

use crate::bulkhead::Bulkheads;
use crate::channel::ChannelSettings;
use crate::clock::Clock;
use crate::counters::Shard;
use crate::event_loop::Loop;
use crate::home::Home;
use crate::mailbox::{Mailbox, Message};
use crate::monitor::{self, Monitor};
use crate::pool::Pool;
use crate::pool_size::Size;
use crate::route_class::RouteClass;
use crate::route_classes::RouteClasses;
use crate::shared::{RouteState, Shared};
use crate::sync::{Condvar, Mutex, lock, wait};
use crate::worker;
use crate::{
    DEFAULT_MAX_THREADS, ExecutionModel, Limits, MetricsSnapshot, Pin, Route, RouteId, RouteMetrics, Service,
    Topics,
};

/// How an engine is set up.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Where to listen.
    pub listen: Vec<Address>,
    /// Sockets that listen already, to be served beside those addresses.
    pub listeners: Vec<Arc<Listener>>,
    /// Event loops. 0, the default, is one for each core that the process may use; where all handlers are dispatched
    /// ([`ExecutionModel::ThreadPool`]) the loops do I/O only and half as many do.
    pub loops: usize,
    /// Which threads run handlers.
    pub execution: ExecutionModel,
    /// How sockets are driven.
    pub io: IoDriver,
    /// What a peer may cost.
    pub limits: Limits,
    /// Whether every connection begins with a PROXY protocol header, version 1 or 2; one without is cut.
    pub proxy_protocol: bool,
    /// The hub of its topics. Belongs to one engine.
    pub topics: Topics,
}

/// A running server. Dropping it does not stop it.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    addresses: Arc<[Address]>,
}

/// Listeners that are bound, to be served from.
pub struct Bound {
    config: EngineConfig,
    /// For each address a listener for each loop, or one that all share.
    listeners: Vec<Vec<Arc<Listener>>>,
    addresses: Vec<Address>,
}

impl Engine {
    /// Binds the listeners. Connections wait in their queues until [`Bound::serve`].
    ///
    /// # Errors
    ///
    /// When an address cannot be listened at (the message names it), or a limit is invalid.
    pub fn bind(mut config: EngineConfig) -> io::Result<Bound> {
        config.limits.validate().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        if config.loops == 0 {
            config.loops = default_loops(config.execution);
        }
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for address in &config.listen {
            let bound = bind_for_loops(address, config.loops).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
            })?;
            addresses.push(bound[0].address().clone());
            listeners.push(bound);
        }
        for adopted in std::mem::take(&mut config.listeners) {
            addresses.push(adopted.address().clone());
            listeners.push(vec![adopted; config.loops]);
        }
        Ok(Bound { config, listeners, addresses })
    }

    /// [`Engine::bind`], then [`Bound::serve`].
    ///
    /// # Errors
    ///
    /// As both have them.
    pub fn start(config: EngineConfig, service: Arc<dyn Service>) -> io::Result<Self> {
        Self::bind(config)?.serve(service)
    }

    /// Where it listens, in the order of [`EngineConfig::listen`], then of [`EngineConfig::listeners`]; port 0 is filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Which threads run its handlers.
    pub fn execution(&self) -> ExecutionModel {
        self.shared.execution
    }

    /// How many event loops it was started with.
    pub fn loops(&self) -> usize {
        self.shared.homes.len()
    }

    /// Its topics.
    pub fn topics(&self) -> &Topics {
        &self.shared.homes[0].topics
    }

    /// Begins a graceful shutdown: no new connections; requests under way are answered, until
    /// [`Limits::shutdown_deadline_ms`]. Returns at once.
    pub fn shutdown(&self) {
        if !self.shared.is_shutting_down.swap(true, Ordering::SeqCst) {
            tracing::info!("shutting down");
            self.shared.homes.iter().for_each(|home| home.mailbox.post(Message::Drain));
        }
    }

    /// Whether a shutdown has begun.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.is_shutting_down()
    }

    /// Waits until the engine has stopped. Threads whose handlers do not return are left to themselves.
    pub fn join(&self) {
        let mut running = lock(&self.shared.running_loops);
        while *running > 0 {
            running = wait(&self.shared.loop_stopped, running);
        }
        drop(running);
        self.shared.monitor.stop();
        self.shared.pool.stop();
    }

    /// Figures of the moment.
    pub fn metrics(&self) -> MetricsSnapshot {
        let shared = &self.shared;
        let census = shared.pool.census();
        let routes = shared.routes.iter().map(|route| RouteMetrics {
            label: route.label.clone(),
            is_dispatched: route.classes.is_dispatched(),
            are_messages_dispatched: route.messages.is_dispatched(),
            takeovers: route.classes.takeovers() + route.messages.takeovers(),
            ..RouteMetrics::default()
        });
        let mut snapshot = MetricsSnapshot {
            routes: routes.collect(),
            takeovers: shared.takeovers.load(Ordering::Relaxed),
            panics: shared.panics.load(Ordering::Relaxed),
            threads: census.threads as u64,
            threads_busy: census.busy as u64,
            queue_length: census.queued as u64,
            ..MetricsSnapshot::default()
        };
        shared.shards.iter().for_each(|shard| shard.add_to(&mut snapshot));
        for home in &shared.homes {
            snapshot.messages_sent += home.sent_messages.load(Ordering::Relaxed);
            snapshot.messages_dropped += home.dropped_messages.load(Ordering::Relaxed);
            snapshot.sent_bytes += home.pushed_bytes.load(Ordering::Relaxed);
        }
        snapshot.topics = self.topics().count() as u64;
        snapshot
    }
}

impl Bound {
    /// Where it listens, in the order of [`EngineConfig::listen`]; port 0 is filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Starts loops and threads.
    ///
    /// # Errors
    ///
    /// When the system gives no poller or thread.
    pub fn serve(self, service: Arc<dyn Service>) -> io::Result<Engine> {
        let mut drivers = self.config.io.open(self.config.loops)?;
        for (index, driver) in drivers.iter_mut().enumerate() {
            for (listener, per_loop) in self.listeners.iter().enumerate() {
                driver.listen(listener, Arc::clone(&per_loop[index]))?;
            }
        }
        let locals = self.addresses.iter().map(peer_address).collect::<Vec<_>>();
        serve_with(&self.config, drivers, &locals, service, self.addresses.into())
    }
}

/// Starts an engine over drivers that are set up.
pub(crate) fn serve_with(
    config: &EngineConfig,
    drivers: Vec<Box<dyn Driver>>,
    locals: &[PeerAddress],
    service: Arc<dyn Service>,
    addresses: Arc<[Address]>,
) -> io::Result<Engine> {
    let shared = Arc::new(share(config, &drivers, service)?);
    make_room_for_descriptors(shared.max_connections);
    let loops = drivers
        .into_iter()
        .enumerate()
        .map(|(index, driver)| Box::new(Loop::new(index, Arc::clone(&shared), driver, locals.to_vec())))
        .collect::<Vec<_>>();
    for the_loop in loops {
        shared.pool.begin_loop();
        worker::start(&shared, Some(the_loop))?;
    }
    match config.execution {
        ExecutionModel::ThreadPool { threads } => {
            shared.pool.enlist(threads);
            for _ in 0..threads {
                worker::start(&shared, None)?;
            }
        }
        ExecutionModel::TaskPool { .. } | ExecutionModel::Inline => {}
    }
    let monitored = Arc::clone(&shared);
    std::thread::Builder::new().name("tayet-monitor".to_owned()).spawn(move || monitor::run(&monitored))?;
    Ok(Engine { shared, addresses })
}

/// What an engine's threads are to share.
pub(crate) fn share(
    config: &EngineConfig,
    drivers: &[Box<dyn Driver>],
    service: Arc<dyn Service>,
) -> io::Result<Shared> {
    let limits = config.limits.clone();
    let routes = service.routes();
    let bulkheads = Bulkheads::new(concurrency_limits(&routes));
    let routes = routes.into_iter().map(|route| route_state(route, &limits)).collect::<Box<[_]>>();
    let idle_timeout = Duration::from_millis(limits.worker_idle_timeout_ms);
    let loops = drivers.len();
    let homes = homes(config, drivers);
    Ok(Shared {
        pool: Pool::new(pool_size(config.execution, loops), limits.queue_capacity, idle_timeout)
            .with_bulkheads(bulkheads),
        monitor: Monitor::new(loops)?,
        flusher: CachePadded::default(),
        shards: (0..loops).map(|_| Arc::new(Shard::new(routes.len()))).collect(),
        homes,
        session_work: OnceLock::new(),
        stream_settings: Arc::new(ChannelSettings::of_events(&limits)),
        service,
        routes,
        execution: config.execution,
        has_proxy_protocol: config.proxy_protocol,
        max_connections: max_connections(&limits),
        open_connections: CachePadded::new(AtomicUsize::new(0)),
        limits,
        clock: Clock::default(),
        takeovers: AtomicU64::new(0),
        panics: AtomicU64::new(0),
        is_shutting_down: AtomicBool::new(false),
        running_loops: Mutex::new(loops),
        loop_stopped: Condvar::new(),
    })
}

fn concurrency_limits(routes: &[Route]) -> impl Iterator<Item = (RouteId, usize)> {
    let numbered = (0..).map(RouteId).zip(routes);
    numbered.filter_map(|(id, route)| Some((id, route.concurrency_limit?)))
}

fn route_state(route: Route, limits: &Limits) -> RouteState {
    let has_bulkhead = route.concurrency_limit.is_some();
    // Loops do not wait for each other.
    let pin = if has_bulkhead { Some(Pin::Blocking) } else { route.pin };
    RouteState {
        label: route.label,
        classes: RouteClasses::new(pin, route.learns_by_path),
        messages: RouteClass::new(route.pin),
        settings: Mutex::new(None),
        body: route.body,
        max_body_bytes: route.max_body_bytes.unwrap_or(limits.max_body_bytes),
        timeout_ms: route.timeout_ms,
        has_bulkhead,
        takes_turns: route.takes_turns,
    }
}

/// The loops' outer sides, joined to the topics.
fn homes(config: &EngineConfig, drivers: &[Box<dyn Driver>]) -> Vec<Arc<Home>> {
    let mailboxes = drivers.iter().map(|driver| Arc::new(Mailbox::new(driver.waker()))).collect::<Vec<_>>();
    if !config.topics.connect(&mailboxes) {
        tracing::error!("these topics belong to another server: what is published does not come here");
    }
    let may_block = config.execution != ExecutionModel::Inline;
    let homes = mailboxes.into_iter().enumerate();
    homes
        .map(|(index, mailbox)| Arc::new(Home::new(index, mailbox, config.topics.clone(), may_block)))
        .collect()
}

fn default_loops(execution: ExecutionModel) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if let ExecutionModel::ThreadPool { .. } = execution { cores.div_ceil(2) } else { cores }
}

fn pool_size(execution: ExecutionModel, loops: usize) -> Size {
    match execution {
        // The loops, one to stand by for each, and at least one to work.
        ExecutionModel::TaskPool { max_threads } => {
            Size::Elastic { max: max_threads.max(2 * loops + 1), standby: loops, eager: false }
        }
        ExecutionModel::ThreadPool { threads } => Size::Fixed { workers: threads },
        ExecutionModel::Inline => Size::Elastic { max: DEFAULT_MAX_THREADS, standby: 0, eager: true },
    }
}

/// Descriptors kept for files, logs and what applications open.
const RESERVED_DESCRIPTORS: u64 = 128;

/// The limit that was set, or what the process may open, less a reserve. Raises the soft limit to the hard one.
fn max_connections(limits: &Limits) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if limits.max_connections > 0 {
        return limits.max_connections;
    }
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_err() {
        return current
            .map_or(usize::MAX, |current| current.saturating_sub(RESERVED_DESCRIPTORS).max(1) as usize);
    }
    maximum.map_or(usize::MAX, |maximum| maximum.saturating_sub(RESERVED_DESCRIPTORS).max(1) as usize)
}

/// IP listeners are one for each loop, among which the kernel spreads connections; a Unix one is shared.
fn bind_for_loops(address: &Address, loops: usize) -> io::Result<Vec<Arc<Listener>>> {
    if let Address::Unix(_) = address {
        let listener = Arc::new(Listener::bind(address, false)?);
        return Ok(std::iter::repeat_n(listener, loops).collect());
    }
    refuse_taken(address)?;
    let first = Arc::new(Listener::bind(address, true)?);
    let bound = first.address().clone();
    let others = (1..loops).map(|_| Listener::bind(&bound, true).map(Arc::new));
    std::iter::once(Ok(first)).chain(others).collect()
}

/// SO_REUSEPORT would let a second server of the same user share a port without a word; it shall be told instead.
fn refuse_taken(address: &Address) -> io::Result<()> {
    match address {
        Address::Ip(ip) if ip.port() != 0 => Listener::check_free(ip),
        _ => Ok(()),
    }
}

fn peer_address(address: &Address) -> PeerAddress {
    match address {
        Address::Ip(address) => PeerAddress::Ip(*address),
        Address::Unix(_) => PeerAddress::Unix,
    }
}
