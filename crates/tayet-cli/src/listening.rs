//! Saying where the server listens, or why it cannot.

use std::io;

use tayet::{Address, DEFAULT_LISTEN, Error, ServerHandle};

/// Says where it listens, a line for each address.
pub(crate) fn announce(server: &ServerHandle) {
    for address in server.addresses() {
        match address {
            Address::Ip(address) => println!("listening on http://{address}"),
            Address::Unix(_) => println!("listening on {address}"),
        }
    }
    println!("open it in a browser; Ctrl-C ends it");
}

/// An address that is taken is the one error that a newcomer meets: it says what to do.
pub(crate) fn explained(error: Error) -> Error {
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
