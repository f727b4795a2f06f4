//! The server's own figures, as the page shows them.

use std::time::{Duration, Instant};

use serde::Serialize;
use tayet::{Json, RouteMetrics, Router, ServerHandle, State};

use super::pressure::Pressure;

pub(crate) fn router() -> Router<(Started, Pressure)> {
    Router::new().get("/api/server", figures)
}

/// When the server started.
#[derive(Clone, Copy)]
pub(crate) struct Started(Instant);

impl Started {
    pub(crate) fn now() -> Self {
        Self(Instant::now())
    }
}

#[derive(Serialize)]
struct Figures {
    uptime_s: u64,
    requests: u64,
    connections: u64,
    threads: u64,
    threads_busy: u64,
    queued: u64,
    takeovers: u64,
    slow_clients: usize,
    routes: Vec<RouteFigures>,
}

#[derive(Serialize)]
struct RouteFigures {
    route: String,
    requests: u64,
    mean_us: u64,
    takeovers: u64,
    runs_on: RunsOn,
}

/// Where a route's handler runs, as the server has learned it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum RunsOn {
    Loop,
    Pool,
}

fn figures(State((started, pressure)): State<(Started, Pressure)>, server: ServerHandle) -> Json<Figures> {
    let metrics = server.metrics();
    let mut routes: Vec<_> =
        metrics.routes.iter().map(RouteFigures::new).filter(|route| route.requests > 0).collect();
    routes.sort_by(|a, b| a.route.cmp(&b.route));
    Json(Figures {
        uptime_s: started.0.elapsed().as_secs(),
        requests: routes.iter().map(|route| route.requests).sum(),
        connections: metrics.connections_open,
        threads: metrics.threads,
        threads_busy: metrics.threads_busy,
        queued: metrics.queue_length,
        takeovers: metrics.takeovers,
        slow_clients: pressure.running(),
        routes,
    })
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
