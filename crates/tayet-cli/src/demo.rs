//! The demo: one page that shows what the server does.

mod chat;
mod example_list;
mod figures;
mod orders;
pub(crate) mod page;
mod pressure;
mod probes;

use tayet::metrics::Metrics;
use tayet::{Config, Router, Server, health};

use self::figures::Source;
use self::orders::Orders;
use self::pressure::Pressure;
use crate::options::DemoOptions;
use crate::{listening, upload_page};

/// Serves the demo until it is told to end.
pub(crate) fn run(options: &DemoOptions) -> tayet::Result {
    let metrics = Metrics::new();
    let uploads = options.uploads.uploads()?.metrics(&metrics);
    let app = router(metrics).nest("/files", uploads);
    let server = Server::new(app).config(&options.server.config(Config::new())?)?;
    listening::run(server, "open it in a browser; Ctrl-C ends it")
}

fn router(metrics: Metrics) -> Router {
    let pressure = Pressure::default();
    Router::new()
        .merge(page::router())
        .get("/uploads", upload_page::page)
        .merge(upload_page::assets())
        .merge(probes::router())
        .merge(pressure::router().with_state(pressure.clone()))
        .merge(figures::router().with_state(Source::new(pressure)))
        .merge(chat::router())
        .nest("/api/orders", orders::router().with_state(Orders::default()))
        .get("/metrics", metrics)
        .get("/healthz", health::live)
        .get("/readyz", health::ready)
}
