//! The demo: one page that shows what the server does.

mod chat;
mod example_list;
mod figures;
mod orders;
mod page;
mod pressure;
mod probes;

use std::io;
use std::thread;

use tayet::metrics::Metrics;
use tayet::{Address, DEFAULT_LISTEN, Error, Router, Server, ServerHandle, health};

use self::figures::Source;
use self::orders::Orders;
use self::pressure::Pressure;
use crate::options::DemoOptions;

/// Serves the demo until it is told to end.
pub(crate) fn run(options: &DemoOptions) -> tayet::Result {
    let pressure = Pressure::default();
    let source = Source::new(pressure.clone());
    let server = Server::new(router(pressure, source.clone())).config(&options.config()?)?;
    let ready = |server: &ServerHandle| {
        let publisher = server.clone();
        thread::spawn(move || figures::publish(&publisher, &source));
        announce(server);
    };
    server.run_with(ready).map_err(explained)?;
    println!("stopped");
    Ok(())
}

fn router(pressure: Pressure, source: Source) -> Router {
    Router::new()
        .merge(page::router())
        .merge(probes::router())
        .merge(pressure::router().with_state(pressure))
        .merge(figures::router().with_state(source))
        .merge(chat::router())
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
