//! What all threads of an engine share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::clock::Clock;
use crate::counters::Shard;
use crate::mailbox::Mailbox;
use crate::monitor::Monitor;
use crate::pool::Pool;
use crate::route_class::RouteClass;
use crate::sync::{Condvar, Mutex};
use crate::{BodyUse, ExecutionModel, Limits, Service};

/// The engine's common ground: set up once, then read by all.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) routes: Box<[RouteState]>,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) execution: ExecutionModel,
    pub(crate) has_proxy_protocol: bool,
    pub(crate) max_connections: usize,
    pub(crate) open_connections: AtomicUsize,
    pub(crate) pool: Pool,
    pub(crate) monitor: Monitor,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) mailboxes: Vec<Arc<Mailbox>>,
    pub(crate) takeovers: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) is_shutting_down: AtomicBool,
    /// Loops that have not stopped.
    pub(crate) running_loops: Mutex<usize>,
    pub(crate) loop_stopped: Condvar,
}

/// A route, with what its calls have taught.
#[derive(Debug)]
pub(crate) struct RouteState {
    pub(crate) label: String,
    pub(crate) class: RouteClass,
    pub(crate) body: BodyUse,
    pub(crate) max_body_bytes: usize,
    pub(crate) timeout_ms: Option<u64>,
}

impl Shared {
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.is_shutting_down.load(Ordering::Relaxed)
    }
}
