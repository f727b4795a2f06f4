//! Serving a router.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tayet_engine::{Address, Engine, EngineConfig, ExecutionModel, IoDriver, Limits, Listener};

use crate::{Config, Result, Router, ServerHandle, Topics};

/// A server: a router and where and how it is served.
///
/// ```no_run
/// use tayet::{ExecutionModel, Limits, Router, Server};
///
/// fn main() -> tayet::Result<()> {
///     let app = Router::new().get("/", || "Hello, World!");
///     Server::new(app)
///         .bind("127.0.0.1:8080")?
///         .bind("unix:/tmp/hello.sock")?
///         .execution(ExecutionModel::ThreadPool { threads: 64 })
///         .limits(Limits { max_body_bytes: 64 * 1024, ..Limits::default() })
///         .run()
/// }
/// ```
#[derive(Debug)]
#[must_use = "a server serves when it is run or started"]
pub struct Server {
    router: Router,
    engine: EngineConfig,
}

/// Where a server listens that is told no address.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

impl Server {
    /// A server of this router.
    pub fn new(router: Router) -> Self {
        Self { router, engine: EngineConfig::default() }
    }

    /// Adds an address to listen on: `127.0.0.1:8080`, `[::1]:0`, `localhost:80`, `:8080` (all interfaces) or
    /// `unix:/run/app.sock`. Port 0 lets the system choose ([`ServerHandle::addresses`]). Without any, it is
    /// [`DEFAULT_LISTEN`].
    ///
    /// # Errors
    ///
    /// When the text is no address. Whether it can be listened on shows when the server starts.
    pub fn bind(mut self, address: impl AsRef<str>) -> Result<Self> {
        self.engine.listen.push(address.as_ref().parse()?);
        Ok(self)
    }

    /// Adds a socket that listens already, such as one that systemd or a supervising process has handed down. It is closed,
    /// and a Unix socket's file left, when the server stops.
    ///
    /// ```
    /// use std::net::TcpListener;
    /// use tayet::{Router, Server};
    ///
    /// # fn main() -> tayet::Result<()> {
    /// let socket = TcpListener::bind("127.0.0.1:0")?;
    /// let address = socket.local_addr()?;
    /// let server = Server::new(Router::new()).listener(socket)?.start()?;
    /// assert_eq!(server.addresses(), [address.into()]);
    /// # server.shutdown();
    /// # server.join();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When it is no listening stream socket.
    pub fn listener(mut self, socket: impl Into<OwnedFd>) -> Result<Self> {
        self.engine.listeners.push(Arc::new(Listener::adopt(socket.into())?));
        Ok(self)
    }

    /// Which threads run handlers. Default: [`ExecutionModel::TaskPool`].
    pub fn execution(mut self, execution: ExecutionModel) -> Self {
        self.engine.execution = execution;
        self
    }

    /// How sockets are driven. Default: [`IoDriver::Auto`].
    pub fn io(mut self, io: IoDriver) -> Self {
        self.engine.io = io;
        self
    }

    /// How many event loops there are. Default: the cores that the process may use.
    pub fn loops(mut self, loops: usize) -> Self {
        self.engine.loops = loops;
        self
    }

    /// The hub of the server's topics, where it is to be shared with threads that publish, or has limits of its own. One hub
    /// belongs to one server.
    pub fn topics(mut self, topics: Topics) -> Self {
        self.engine.topics = topics;
        self
    }

    /// What a peer may cost.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.engine.limits = limits;
        self
    }

    /// Whether every connection begins with a PROXY protocol header, version 1 or 2, from which the client's address is
    /// taken; one without is cut. Only for listeners that nobody but such a proxy can reach. Default: no.
    pub fn proxy_protocol(mut self, proxy_protocol: bool) -> Self {
        self.engine.proxy_protocol = proxy_protocol;
        self
    }

    /// Puts what `config` sets in the place of what was set so far. An access log and trusted proxies go around the router.
    ///
    /// # Errors
    ///
    /// When a limit is invalid, or the access log's file cannot be opened.
    pub fn config(mut self, config: &Config) -> Result<Self> {
        config.apply(&mut self.engine)?;
        self.router = config.wrap(self.router)?;
        Ok(self)
    }

    /// Starts to serve, and returns.
    ///
    /// # Errors
    ///
    /// When an address cannot be listened on, a limit is invalid, or threads cannot be started.
    pub fn start(mut self) -> Result<ServerHandle> {
        if self.engine.listen.is_empty() && self.engine.listeners.is_empty() {
            self.engine.listen.push(DEFAULT_LISTEN.parse::<Address>()?);
        }
        let app = Arc::new(self.router.into_app());
        let engine = Engine::start(self.engine, Arc::clone(&app) as _)?;
        let handle = ServerHandle::new(engine, &app);
        app.set_server(Some(handle.clone()));
        Ok(handle)
    }

    /// Serves as [`Server::run`] does, and calls `ready` once connections are accepted and signals are heard.
    ///
    /// ```no_run
    /// use tayet::{Router, Server};
    ///
    /// fn main() -> tayet::Result<()> {
    ///     let server = Server::new(Router::new().get("/", || "hello")).bind("127.0.0.1:0")?;
    ///     server.run_with(|handle| println!("listening on {}", handle.addresses()[0]))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn run_with(self, ready: impl FnOnce(&ServerHandle)) -> Result {
        let signals = Signals::new([SIGTERM, SIGINT])?;
        let handle = self.start()?;
        let waiting = signals.handle();
        let waiter = shut_down_on(signals, handle.clone())?;
        ready(&handle);
        handle.join();
        waiting.close();
        let _ = waiter.join();
        Ok(())
    }

    /// Serves until SIGTERM or SIGINT, then answers what is under way
    /// ([`Limits::shutdown_deadline_ms`]) and returns. A second signal ends the process at once.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn run(self) -> Result {
        self.run_with(|handle| {
            for address in handle.addresses() {
                tracing::info!("listening on {address}");
            }
        })
    }
}

/// Waits for signals on a thread of its own, until they are closed.
fn shut_down_on(mut signals: Signals, handle: ServerHandle) -> io::Result<JoinHandle<()>> {
    let wait = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count == 0 {
                // First, since writing the log may fail, by a panic even.
                handle.shutdown();
                tracing::info!("shutting down; a second signal ends it at once");
            } else if signal_hook::low_level::emulate_default_handler(signal).is_err() {
                std::process::abort();
            }
        }
    };
    thread::Builder::new().name("tayet-signals".to_owned()).spawn(wait)
}
