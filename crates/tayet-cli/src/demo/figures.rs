//! The server's own figures, as the page shows them.

mod rates;
mod ticker;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tayet::{Json, MetricsSnapshot, RouteMetrics, Router, ServerHandle, State};

use self::ticker::Ticker;
use super::pressure::Pressure;

pub(crate) fn router() -> Router<Source> {
    Router::new().get("/api/server", figures).get("/figures/events", ticker::events)
}

/// Where those figures come from that the server does not count.
#[derive(Clone)]
pub(crate) struct Source {
    started: Instant,
    pressure: Pressure,
    ticker: Arc<Ticker>,
}

impl Source {
    /// The server starts now.
    pub(crate) fn new(pressure: Pressure) -> Self {
        Self { started: Instant::now(), pressure, ticker: Arc::default() }
    }
}

#[derive(Debug, Serialize)]
struct Figures {
    uptime_s: u64,
    requests: u64,
    connections: u64,
    /// WebSockets and streams of events.
    sessions: u64,
    threads: u64,
    threads_busy: u64,
    queued: u64,
    takeovers: u64,
    /// What of the process lies in memory, if the system says so.
    memory_bytes: Option<u64>,
    slow_clients: usize,
    routes: Vec<RouteFigures>,
}

#[derive(Debug, Serialize)]
struct RouteFigures {
    route: String,
    requests: u64,
    mean_us: u64,
    takeovers: u64,
    runs_on: RunsOn,
}

/// Where a route's handler runs, as the server has learned it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum RunsOn {
    Loop,
    Pool,
}

fn figures(State(source): State<Source>, server: ServerHandle) -> Json<Figures> {
    Json(Figures::new(&server.metrics(), &source))
}

impl Figures {
    fn new(metrics: &MetricsSnapshot, source: &Source) -> Self {
        let mut routes: Vec<_> =
            metrics.routes.iter().map(RouteFigures::new).filter(|route| route.requests > 0).collect();
        routes.sort_by(|a, b| a.route.cmp(&b.route));
        Self {
            uptime_s: source.started.elapsed().as_secs(),
            requests: routes.iter().map(|route| route.requests).sum(),
            connections: metrics.connections_open,
            sessions: metrics.sessions_open,
            threads: metrics.threads,
            threads_busy: metrics.threads_busy,
            queued: metrics.queue_length,
            takeovers: metrics.takeovers,
            memory_bytes: resident_bytes(),
            slow_clients: source.pressure.running(),
            routes,
        }
    }
}

impl RouteFigures {
    fn new(metrics: &RouteMetrics) -> Self {
        let requests = metrics.statuses.iter().map(|(_, count)| count).sum();
        Self {
            route: metrics.label.clone(),
            requests,
            mean_us: mean(metrics.duration.sum, requests).as_micros().try_into().unwrap_or(u64::MAX),
            takeovers: metrics.takeovers,
            runs_on: if metrics.is_dispatched { RunsOn::Pool } else { RunsOn::Loop },
        }
    }
}

fn mean(sum: Duration, count: u64) -> Duration {
    sum.checked_div(count.try_into().unwrap_or(u32::MAX)).unwrap_or_default()
}

fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
