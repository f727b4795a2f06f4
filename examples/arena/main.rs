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
#[path = "../../crates/tayet-cli/src/log.rs"]
mod log;
#[path = "../40_mongodb/offices.rs"]
mod offices;
mod options;
#[path = "../../crates/tayet-cli/src/server_options.rs"]
mod server_options;
mod sockets;

use clap::Parser;
use tayet::{Address, Server};
use tayet_mongo::Mongo;

use crate::options::Options;

fn main() -> tayet::Result {
    let options = Options::parse();
    log::start();
    let mongo = Mongo::with_config(&options.mongodb_uri, options.mongo_config())?;
    let router = endpoints::router(options.files.as_deref(), options.gzip_level, mongo)?;
    Server::new(router).config(&options.config()?)?.run_with(|server| {
        for address in server.addresses() {
            match address {
                Address::Ip(address) => println!("listening on http://{address}"),
                Address::Unix(_) => println!("listening on {address}"),
            }
        }
    })
}
