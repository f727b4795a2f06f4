//! A running server.

use std::fmt;
use std::sync::{Arc, Weak};

use tayet_engine::{Address, Engine, ExecutionModel, MetricsSnapshot};

use crate::app::App;
use crate::{Context, FromRequestParts, Rejection, Request, Topics};

/// A running server: a cheap clone. Handlers have it as an extractor, and `Option<ServerHandle>` where they are also tested
/// without one.
///
/// ```no_run
/// use tayet::{Router, Server};
///
/// fn main() -> tayet::Result<()> {
///     let server = Server::new(Router::new().get("/", || "hello")).bind("127.0.0.1:0")?.start()?;
///     println!("http://{}", server.addresses()[0]);
///     server.shutdown();
///     server.join();
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct ServerHandle {
    engine: Engine,
    app: Weak<App>,
}

impl ServerHandle {
    pub(crate) fn new(engine: Engine, app: &Arc<App>) -> Self {
        Self { engine, app: Arc::downgrade(app) }
    }

    /// Where it listens, in the order of [`Server::bind`](crate::Server::bind); port 0 is filled in.
    pub fn addresses(&self) -> &[Address] {
        self.engine.addresses()
    }

    /// Which threads run its handlers ([`Server::execution`](crate::Server::execution)).
    pub fn execution(&self) -> ExecutionModel {
        self.engine.execution()
    }

    /// How many event loops it has ([`Server::loops`](crate::Server::loops)); what was left to it is filled in.
    pub fn loops(&self) -> usize {
        self.engine.loops()
    }

    /// Its topics.
    pub fn topics(&self) -> &Topics {
        self.engine.topics()
    }

    /// Begins a graceful shutdown: no new connections; requests under way are answered, until
    /// [`Limits::shutdown_deadline_ms`](crate::Limits::shutdown_deadline_ms). Returns at once.
    pub fn shutdown(&self) {
        self.engine.shutdown();
    }

    /// Whether a shutdown has begun.
    pub fn is_shutting_down(&self) -> bool {
        self.engine.is_shutting_down()
    }

    /// Waits until the server has stopped and its layers have finished ([`Middleware::stopped`](crate::Middleware::stopped)):
    /// what was logged is written.
    pub fn join(&self) {
        self.engine.join();
        if let Some(app) = self.app.upgrade() {
            app.stopped();
        }
    }

    /// Figures of the moment.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.engine.metrics()
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

impl<S> FromRequestParts<S> for ServerHandle {
    type Rejection = Rejection;

    fn from_request_parts(_: &mut Request, context: Context<'_, S>) -> Result<Self, Rejection> {
        context.server().ok_or(Rejection::Unprovided("a running server"))
    }
}
