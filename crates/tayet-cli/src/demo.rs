//! The demo: one page that shows what the server does.

mod example_list;
mod figures;
mod orders;
mod page;
mod pressure;
mod probes;

use std::io;

use tayet::metrics::Metrics;
use tayet::{Address, DEFAULT_LISTEN, Error, Router, Server, ServerHandle, health};

use self::figures::Started;
use self::orders::Orders;
use self::pressure::Pressure;
use crate::options::DemoOptions;

/// Serves the demo until it is told to end.
pub(crate) fn run(options: &DemoOptions) -> tayet::Result {
    let server = Server::new(router()).config(&options.config()?)?;
    server.run_with(announce).map_err(explained)?;
    println!("stopped");
    Ok(())
}

fn router() -> Router {
    let pressure = Pressure::default();
    Router::new()
        .merge(page::router())
        .merge(probes::router())
        .merge(pressure::router().with_state(pressure.clone()))
        .merge(figures::router().with_state((Started::now(), pressure)))
        .nest("/api/orders", orders::router().with_state(Orders::default()))
        .get("/metrics", Metrics::new())
        .get("/healthz", health::live)
        .get("/readyz", health::ready)
}

fn announce(server: &ServerHandle) {
    for address in server.addresses() {
        match address {
            Address::Ip(address) => println!("listening on http://{address}"),
            Address::Unix(_) => println!("listening on {address}"),
        }
    }
    println!("open it in a browser; Ctrl-C ends it");
}

/// An address that is taken is the one error that a newcomer meets: it says what to do.
fn explained(error: Error) -> Error {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match source {
        Some(taken) if taken.kind() == io::ErrorKind::AddrInUse => {
            let advice = format!(
                "{taken}\nAnother program listens there already. Choose another address, such as --listen 127.0.0.1:8081, \
                 or let the system choose one with --listen 127.0.0.1:0 (without --listen, it is {DEFAULT_LISTEN})."
            );
            io::Error::new(io::ErrorKind::AddrInUse, advice).into()
        }
        _ => error,
    }
}
