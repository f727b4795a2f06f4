//! What is said when a server begins to listen, and when it cannot.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tayet::{Address, DEFAULT_LISTEN, Error, Server, ServerHandle};

/// Serves until it is told to end. `invitation` follows the addresses.
pub(crate) fn run(server: Server, invitation: &str) -> tayet::Result {
    server.run_with(|handle| announce(handle, invitation)).map_err(explained)?;
    println!("stopped");
    Ok(())
}

fn announce(server: &ServerHandle, invitation: &str) {
    for address in server.addresses() {
        match address {
            Address::Ip(address) => announce_ip(*address),
            Address::Unix(_) => println!("listening on {address}"),
        }
    }
    println!("{invitation}");
}

/// An address that stands for all of the machine's cannot be opened in a browser, so those are said that can.
fn announce_ip(address: SocketAddr) {
    println!("listening on http://{address}");
    if !address.ip().is_unspecified() {
        return;
    }
    let local: IpAddr =
        if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    println!("  here:           http://{}", SocketAddr::new(local, address.port()));
    if let Some(network) = network_address(address) {
        println!("  on the network: http://{}", SocketAddr::new(network, address.port()));
    }
}

/// The address by which this machine would reach others; asking for it sends nothing.
fn network_address(listening: SocketAddr) -> Option<IpAddr> {
    // Addresses that documentation may use (RFC 5737, RFC 3849): nobody has them.
    let far: IpAddr = if listening.is_ipv4() {
        Ipv4Addr::new(192, 0, 2, 1).into()
    } else {
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()
    };
    let socket = UdpSocket::bind(SocketAddr::new(listening.ip(), 0)).ok()?;
    socket.connect(SocketAddr::new(far, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified() && !own.is_loopback()).then_some(own)
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
