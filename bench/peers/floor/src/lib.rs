//! What the floors share: loops that wait for sockets, each with a listener of its own.

pub mod answers;
pub mod ring;

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::{io, thread};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SocketFlags, SocketType, accept_with, bind, listen, recv, socket_with, sockopt,
};

const BACKLOG: i32 = 4096;
const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
const EVENTS_AT_ONCE: usize = 512;
/// Larger than any batch of requests or frames that the loads send, so that one read empties the socket.
pub const READ_BYTES: usize = 64 * 1024;

/// What is said where nothing else is asked for.
pub const HELLO: &[u8] = b"Hello, World!";

/// What a floor does with the connections of one loop.
pub trait Service: Send + 'static {
    type Connection: Send;

    /// Edge-triggered: level-triggered, each event costs a second look at the socket in the next wait.
    const INTEREST: EventFlags = EventFlags::IN.union(EventFlags::ET);

    fn open(&self, socket: OwnedFd) -> Self::Connection;

    /// Does what its socket has become ready for.
    fn serve(&mut self, index: usize, connection: &mut Self::Connection) -> Result<(), Ended>;

    /// What other loops wake this one by.
    fn waker(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Another loop has woken this one.
    fn wake(&mut self, _: &[Option<Self::Connection>]) {}

    /// A connection has come to its end.
    fn forget(&mut self, _: usize, _: Self::Connection) {}
}

/// Why a connection has come to its end: nobody is told.
pub struct Ended;

/// Serves `address` with a loop for each of the services, for ever.
pub fn run<S: Service>(address: SocketAddr, services: impl Iterator<Item = io::Result<S>>) -> io::Result<()> {
    let loops: Vec<_> = services
        .map(|service| {
            let mut floor = Loop::new(address, service?)?;
            Ok(thread::spawn(move || floor.run()))
        })
        .collect::<io::Result<_>>()?;
    for floor in loops {
        floor.join().expect("a loop does not panic")?;
    }
    Ok(())
}

/// Reads into `buffer`, which it clears first; false when there is nothing yet.
pub fn receive(socket: &OwnedFd, buffer: &mut Vec<u8>) -> Result<bool, Ended> {
    buffer.clear();
    match recv(socket, spare_capacity(buffer), RecvFlags::empty()) {
        Ok((_, count)) if count > 0 => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        _ => Err(Ended),
    }
}

/// The constant that every request is answered by. `connection` is a field of its own, or nothing.
pub fn head(body_bytes: u64, connection: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\
         Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n{connection}\r\n"
    )
}

struct Loop<S: Service> {
    epoll: OwnedFd,
    listener: OwnedFd,
    /// By descriptor.
    connections: Vec<Option<S::Connection>>,
    service: S,
}

impl<S: Service> Loop<S> {
    fn new(address: SocketAddr, service: S) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let listener = listen_reusing_port(address)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        if let Some(waker) = service.waker() {
            epoll::add(&epoll, waker, EventData::new_u64(WAKER), EventFlags::IN)?;
        }
        Ok(Self { epoll, listener, connections: Vec::new(), service })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_AT_ONCE);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                // A tracer that attaches interrupts the wait.
                Err(Errno::INTR) => continue,
                result => result?,
            };
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    WAKER => self.service.wake(&self.connections),
                    index => self.serve(index as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let socket = accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let index = socket.as_raw_fd() as usize;
        epoll::add(&self.epoll, &socket, EventData::new_u64(index as u64), S::INTEREST)?;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(self.service.open(socket));
        Ok(())
    }

    fn serve(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else { return };
        if self.service.serve(index, connection).is_err()
            && let Some(connection) = self.connections[index].take()
        {
            self.service.forget(index, connection);
        }
    }
}

/// Listens on `address`, where each loop has a listener of its own.
pub fn listen_reusing_port(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let listener = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    sockopt::set_socket_reuseport(&listener, true)?;
    bind(&listener, &address)?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}
