//! Clients that keep slow requests in flight.
//!
//! A browser opens no more than six connections to a server, so the page cannot press it by itself. It asks for clients here:
//! threads of the demo that send real requests over real connections to the server that they live in.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tayet::{Address, Json, OrStatus, Router, ServerHandle, State, StatusCode};

/// Most clients at once.
pub(crate) const MAX_CLIENTS: usize = 128;
/// Clients stay for so long after they were last asked for: those of a page that was closed go by themselves.
const LEASE_MS: u64 = 5_000;
/// How long a client waits for one answer.
const CLIENT_TIMEOUT_MS: u64 = 30_000;

const REQUEST: &[u8] = b"GET /api/slow HTTP/1.1\r\nHost: localhost\r\nUser-Agent: tayet-demo\r\n\r\n";

pub(crate) fn router() -> Router<Pressure> {
    Router::new().put("/api/pressure", set)
}

#[derive(Deserialize, Serialize)]
struct Wish {
    clients: usize,
}

/// Has so many clients for the length of a lease, and answers how many there will be.
fn set(
    State(pressure): State<Pressure>,
    server: ServerHandle,
    Json(wish): Json<Wish>,
) -> tayet::Result<Json<Wish>> {
    let address = loopback(server.addresses())
        .or_status(StatusCode::SERVICE_UNAVAILABLE, "the demo's clients need a TCP address to ask")?;
    let clients = wish.clients.min(MAX_CLIENTS);
    pressure.lease(clients, address)?;
    Ok(Json(Wish { clients }))
}

/// How many clients there are to be, and how many there are.
#[derive(Clone, Default)]
pub(crate) struct Pressure(Arc<Mutex<Clients>>);

#[derive(Default)]
struct Clients {
    wanted: usize,
    running: usize,
    leased_until: Option<Instant>,
}

impl Pressure {
    /// How many clients there are.
    pub(crate) fn running(&self) -> usize {
        self.lock().running
    }

    fn lease(&self, wanted: usize, address: SocketAddr) -> io::Result<()> {
        let mut clients = self.lock();
        clients.wanted = wanted;
        clients.leased_until = Some(Instant::now() + Duration::from_millis(LEASE_MS));
        while clients.running < clients.wanted {
            let pressure = self.clone();
            thread::Builder::new()
                .name("demo-client".to_owned())
                .spawn(move || pressure.run_client(address))?;
            clients.running += 1;
        }
        Ok(())
    }

    fn run_client(&self, address: SocketAddr) {
        let mut client = Client::connect(address);
        let mut is_well = client.is_ok();
        while self.keeps_client(is_well) {
            is_well = client.as_mut().is_ok_and(|client| client.ask().is_ok());
        }
    }

    /// Whether a client is to go on; counts those that are not.
    fn keeps_client(&self, is_well: bool) -> bool {
        let mut clients = self.lock();
        let is_leased = clients.leased_until.is_some_and(|until| Instant::now() < until);
        let stays = is_well && is_leased && clients.running <= clients.wanted;
        clients.running -= usize::from(!stays);
        stays
    }

    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A keep-alive connection that asks for the slow endpoint.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let connection = TcpStream::connect(address)?;
        connection.set_read_timeout(Some(Duration::from_millis(CLIENT_TIMEOUT_MS)))?;
        connection.set_nodelay(true)?;
        Ok(Self(BufReader::new(connection)))
    }

    /// Sends a request and waits for its answer, which must have a length.
    fn ask(&mut self) -> io::Result<()> {
        self.0.get_mut().write_all(REQUEST)?;
        let mut length = 0;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        io::copy(&mut self.0.by_ref().take(length), &mut io::sink()).map(drop)
    }
}

/// Where this process reaches its own server.
fn loopback(addresses: &[Address]) -> Option<SocketAddr> {
    let ip = |address: &Address| match address {
        Address::Ip(address) => Some(*address),
        Address::Unix(_) => None,
    };
    let mut address = addresses.iter().find_map(ip)?;
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Some(address)
}
