//! The demo: one page that shows what the server does.

mod chat;
mod example_list;
mod figures;
mod orders;
mod page;
mod pressure;
mod probes;

use tayet::metrics::Metrics;
use tayet::{Config, Router, Server, health};

use self::figures::Source;
use self::orders::Orders;
use self::pressure::Pressure;
use crate::listening;
use crate::server_options::ServerOptions;

/// Serves the demo until it is told to end.
pub(crate) fn run(options: &ServerOptions) -> tayet::Result {
    let server = Server::new(router()).config(&options.config(Config::new())?)?;
    listening::run(server, "open it in a browser; Ctrl-C ends it")
}

fn router() -> Router {
    let pressure = Pressure::default();
    Router::new()
        .merge(page::router())
        .merge(probes::router())
        .merge(pressure::router().with_state(pressure.clone()))
        .merge(figures::router().with_state(Source::new(pressure)))
        .merge(chat::router())
        .nest("/api/orders", orders::router().with_state(Orders::default()))
        .get("/metrics", Metrics::new())
        .get("/healthz", health::live)
        .get("/readyz", health::ready)
}
