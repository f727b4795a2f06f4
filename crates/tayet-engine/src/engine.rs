//! Starting and stopping: listeners, loops, threads.

use std::io;
use std::sync::Arc;

use tayet_net::Address;

use crate::{ExecutionModel, Limits, MetricsSnapshot, Service};

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where to listen.
    pub listen: Vec<Address>,
    /// Event loops. Default: the cores that the process may use.
    pub loops: usize,
    /// Which threads run handlers.
    pub execution: ExecutionModel,
    /// What a peer may cost.
    pub limits: Limits,
    /// Whether every connection begins with a PROXY protocol header, version 1 or 2; one without is cut.
    pub proxy_protocol: bool,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            loops: std::thread::available_parallelism().map_or(1, usize::from),
            execution: ExecutionModel::default(),
            limits: Limits::default(),
            proxy_protocol: false,
        }
    }
}

/// A running server. Dropping it does not stop it.
#[derive(Clone)]
pub struct Engine {
}

impl Engine {
    /// Binds the listeners and starts to serve.
    ///
    /// # Errors
    ///
    /// When an address cannot be listened at (the message names it), a limit is invalid, or threads cannot be started.
    pub fn start(config: EngineConfig, service: Arc<dyn Service>) -> io::Result<Self> { todo!() }

    /// Where it listens, in the order of [`EngineConfig::listen`]; port 0 is filled in.
    pub fn addresses(&self) -> &[Address] { todo!() }

    /// Begins a graceful shutdown: no new connections; requests under way are answered, until
    /// [`Limits::shutdown_deadline_ms`]. Returns at once.
    pub fn shutdown(&self) { todo!() }

    /// Whether a shutdown has begun.
    pub fn is_shutting_down(&self) -> bool { todo!() }

    /// Waits until the engine has stopped.
    pub fn join(&self) { todo!() }

    /// Figures of the moment.
    pub fn metrics(&self) -> MetricsSnapshot { todo!() }
}
