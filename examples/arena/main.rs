//! The arena: an application of small, exact endpoints for benchmarks and for tests over the wire.
//!
//! ```text
//! cargo run --release --example arena -- --listen 127.0.0.1:8080
//! curl 'http://127.0.0.1:8080/baseline11?a=13&b=42'
//! ```
//!
//! It says on standard output where it listens, one line for each address, once it can be connected to.

mod endpoints;
mod items;
mod options;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use tayet::{Address, Server, ServerHandle};

use crate::options::Options;

fn main() -> tayet::Result {
    let options = Options::parse();
    let server = options.apply(Server::new(endpoints::router()))?.start()?;
    for address in server.addresses() {
        match address {
            Address::Ip(address) => println!("listening on http://{address}"),
            Address::Unix(_) => println!("listening on {address}"),
        }
    }
    serve_until_signalled(&server)
}

/// SIGTERM and SIGINT end the server when it has answered what is under way; a second one ends it at once.
fn serve_until_signalled(server: &ServerHandle) -> tayet::Result {
    let is_signalled = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        flag::register_conditional_default(signal, Arc::clone(&is_signalled))?;
        flag::register(signal, Arc::clone(&is_signalled))?;
    }
    Signals::new([SIGTERM, SIGINT])?.forever().next();
    server.shutdown();
    server.join();
    Ok(())
}
