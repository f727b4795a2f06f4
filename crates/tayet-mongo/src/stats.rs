//! Figures about the database.

use std::sync::Arc;

use mongodb::event::cmap::CmapEvent;
use tayet::metrics::prometheus_client::metrics::counter::Counter;
use tayet::metrics::prometheus_client::metrics::family::{Family, MetricConstructor};
use tayet::metrics::prometheus_client::metrics::gauge::Gauge;
use tayet::metrics::prometheus_client::metrics::histogram::Histogram;
use tayet::metrics::prometheus_client::registry::{Registry, Unit};

use crate::MongoError;

/// Upper bounds of what a query, or its wait for a connection, may take.
const BOUNDS_SECONDS: [f64; 12] =
    [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

type Label = [(&'static str, &'static str); 1];

/// Figures about the database since the program began.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) queries_under_way: Gauge,
    queries: Family<Label, Histogram, Seconds>,
    errors: Family<Label, Counter>,
    checkout_wait: Histogram,
    connections: Gauge,
    connections_busy: Gauge,
    is_breaker_open: Gauge,
}

/// Makes histograms of times.
#[derive(Clone, Debug)]
struct Seconds;

impl MetricConstructor<Histogram> for Seconds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BOUNDS_SECONDS)
    }
}

impl Default for Stats {
    fn default() -> Self {
        Self {
            queries_under_way: Gauge::default(),
            queries: Family::new_with_constructor(Seconds),
            errors: Family::default(),
            checkout_wait: Seconds.new_metric(),
            connections: Gauge::default(),
            connections_busy: Gauge::default(),
            is_breaker_open: Gauge::default(),
        }
    }
}

impl Stats {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("mongo");
        let help = "From asking to the answer, the wait for a connection included";
        registry.register_with_unit("query_duration", help, Unit::Seconds, self.queries.clone());
        registry.register("query_errors", "Queries that failed, refused ones included", self.errors.clone());
        let help = "How long queries waited for a connection";
        registry.register_with_unit("checkout_wait", help, Unit::Seconds, self.checkout_wait.clone());
        for (name, help, gauge) in [
            ("queries_under_way", "Queries that wait for a connection or an answer", &self.queries_under_way),
            ("connections", "Connections open now", &self.connections),
            ("connections_busy", "Connections that a query uses now", &self.connections_busy),
            ("breaker_open", "Whether the server is left alone since it failed (1)", &self.is_breaker_open),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    pub(crate) fn answered(&self, operation: &'static str, seconds: f64) {
        self.queries.get_or_create(&[("operation", operation)]).observe(seconds);
    }

    pub(crate) fn failed(&self, error: &MongoError) {
        self.errors.get_or_create(&[("kind", error.kind().label())]).inc();
    }

    pub(crate) fn set_breaker_open(&self, is_open: bool) {
        self.is_breaker_open.set(i64::from(is_open));
    }

    /// Takes in what the driver tells of its connections.
    pub(crate) fn hear(self: &Arc<Self>, event: &CmapEvent) {
        match event {
            CmapEvent::ConnectionCreated(_) => _ = self.connections.inc(),
            CmapEvent::ConnectionClosed(_) => _ = self.connections.dec(),
            CmapEvent::ConnectionCheckedOut(event) => {
                self.connections_busy.inc();
                self.checkout_wait.observe(event.duration.as_secs_f64());
            }
            CmapEvent::ConnectionCheckedIn(_) => _ = self.connections_busy.dec(),
            _ => {}
        }
    }
}
