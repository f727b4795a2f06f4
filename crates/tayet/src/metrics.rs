//! Figures for Prometheus.

mod engine_collector;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, StatusCode};
pub use prometheus_client;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

use self::engine_collector::EngineCollector;
use crate::{Context, Handler, IntoResponse, Problem, Request, Response, ServerHandle};

/// A handler that answers the server's figures, and the application's own, in the OpenMetrics text format, which Prometheus
/// reads.
///
/// The server's are: `tayet_requests_total` by route and status, `tayet_request_duration_seconds` by route,
/// `tayet_route_dispatched` (1 for a route that is handed to the pool, 0 for one that runs on the loop) and
/// `tayet_route_takeovers_total` by route, `tayet_queue_wait_seconds`, `tayet_queue_length`, `tayet_threads`,
/// `tayet_threads_busy`, `tayet_takeovers_total`, `tayet_panics_total`, `tayet_connections_open`,
/// `tayet_connections_accepted_total`, `tayet_connections_timed_out_total`, `tayet_accept_errors_total`,
/// `tayet_requests_refused_total`, `tayet_requests_overflowed_total`, `tayet_received_bytes_total` and
/// `tayet_sent_bytes_total`. A route is listed once it has answered.
///
/// ```
/// use tayet::Router;
/// use tayet::metrics::Metrics;
/// use tayet::metrics::prometheus_client::metrics::counter::Counter;
///
/// let orders = Counter::<u64>::default();
/// let metrics = Metrics::new();
/// metrics.register(|registry| registry.register("orders", "Orders taken", orders.clone()));
///
/// let app: Router = Router::new().get("/metrics", metrics);
/// orders.inc();
/// let text = tayet::testing::TestClient::new(app).get("/metrics").send().text().to_owned();
/// assert!(text.contains("orders_total 1\n") && text.ends_with("# EOF\n"));
/// ```
#[derive(Clone, Default)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

/// Marks [`Metrics`] as a handler.
#[derive(Debug)]
pub struct ViaMetrics;

impl Metrics {
    /// The server's figures alone, so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers figures of the application's own.
    pub fn register<T>(&self, register: impl FnOnce(&mut Registry) -> T) -> T {
        register(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A server's figures, and the application's own, as the handler answers them.
    ///
    /// # Errors
    ///
    /// When a figure of the application's own cannot be encoded.
    pub fn text(&self, server: &ServerHandle) -> Result<String, fmt::Error> {
        self.encode(Some(EngineCollector::new(server.metrics())))
    }

    fn encode(&self, server: Option<EngineCollector>) -> Result<String, fmt::Error> {
        let mut text = String::new();
        if let Some(collector) = server {
            let mut registry = Registry::with_prefix("tayet");
            registry.register_collector(Box::new(collector));
            encode_registry(&mut text, &registry)?;
        }
        self.register(|registry| encode_registry(&mut text, registry))?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

impl<S> Handler<ViaMetrics, S> for Metrics {
    fn call(&self, _: &mut Request, context: Context<'_, S>) -> Response {
        let collector = context.server().map(|server| EngineCollector::new(server.metrics()));
        let content_type =
            const { HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8") };
        match self.encode(collector) {
            Ok(text) => Response::new(text).with_content_type(content_type),
            Err(fmt::Error) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response(),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
