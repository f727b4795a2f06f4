//! The floor for WebSockets: what a loop costs that unmasks frames and sends them back, or to all of one topic.
//!
//! It takes what the load sends and nothing else: the handshake with RFC 6455's own example of a key, and unfragmented
//! messages that end within a read. All topics are one.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::{env, io, thread};

use peer_floor::listen_reusing_port;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};

const USAGE: &str = "usage: floor-websocket ADDRESS LOOPS";
const LISTENER: u64 = u64::MAX;
const EVENTS_AT_ONCE: usize = 512;
const READ_BYTES: usize = 64 * 1024;
const TOPIC: &[u8] = b"GET /ws/topic/";
/// The answer to the key of the example in RFC 6455, section 1.3.
const ACCEPTANCE: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Who gets what is published.
type Members = Mutex<Vec<Arc<OwnedFd>>>;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let members = Arc::<Members>::default();
    let loops: Vec<_> = (0..loops.parse().expect(USAGE))
        .map(|_| {
            let mut floor = Loop::new(address, Arc::clone(&members))?;
            Ok(thread::spawn(move || floor.run()))
        })
        .collect::<io::Result<_>>()?;
    for floor in loops {
        floor.join().expect("a loop does not panic")?;
    }
    Ok(())
}

struct Loop {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    members: Arc<Members>,
    received: Vec<u8>,
    answer: Vec<u8>,
}

struct Connection {
    socket: Arc<OwnedFd>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Handshake,
    Echo,
    Topic,
}

/// Why a connection has come to its end: nobody is told.
struct Ended;

impl Loop {
    fn new(address: SocketAddr, members: Arc<Members>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let listener = listen_reusing_port(address)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let received = Vec::with_capacity(READ_BYTES);
        Ok(Self { epoll, listener, connections: Vec::new(), members, received, answer: Vec::new() })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_AT_ONCE);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                // A tracer that attaches interrupts the wait.
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    index => {
                        if self.serve(index as usize).is_err() {
                            self.forget(index as usize);
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let socket = accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        let index = socket.as_raw_fd() as usize;
        // Edge-triggered: level-triggered, each event costs a second look at the socket in the next wait.
        epoll::add(&self.epoll, &socket, EventData::new_u64(index as u64), EventFlags::IN | EventFlags::ET)?;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(Connection { socket: Arc::new(socket), state: State::Handshake });
        Ok(())
    }

    fn serve(&mut self, index: usize) -> Result<(), Ended> {
        let connection = self.connections[index].as_mut().ok_or(Ended)?;
        self.received.clear();
        match recv(&*connection.socket, spare_capacity(&mut self.received), RecvFlags::empty()) {
            Ok((_, count)) if count > 0 => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            _ => return Err(Ended),
        }
        if connection.state == State::Handshake {
            connection.state = shake_hands(connection, &self.received, &self.members)?;
            return Ok(());
        }
        self.answer.clear();
        let mut rest = &self.received[..];
        while !rest.is_empty() {
            rest = answer_frame(rest, &mut self.answer).ok_or(Ended)?;
        }
        if connection.state == State::Echo {
            return write(&connection.socket, &self.answer);
        }
        // One thread sends to all: the loops share no queue, and a send is what a delivery has to cost.
        for member in self.members.lock().expect("nothing panics under the lock").iter() {
            let _ = write(member, &self.answer);
        }
        Ok(())
    }

    fn forget(&mut self, index: usize) {
        let Some(connection) = self.connections[index].take() else { return };
        if connection.state == State::Topic {
            let mut members = self.members.lock().expect("nothing panics under the lock");
            members.retain(|member| !Arc::ptr_eq(member, &connection.socket));
        }
    }
}

fn shake_hands(connection: &Connection, request: &[u8], members: &Members) -> Result<State, Ended> {
    if !request.ends_with(b"\r\n\r\n") {
        return Err(Ended);
    }
    write(&connection.socket, ACCEPTANCE)?;
    if !request.starts_with(TOPIC) {
        return Ok(State::Echo);
    }
    members.lock().expect("nothing panics under the lock").push(Arc::clone(&connection.socket));
    Ok(State::Topic)
}

/// Appends the frame at the beginning of `input`, unmasked, to `answer`; returns what follows it.
fn answer_frame<'a>(input: &'a [u8], answer: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (head, rest) = input.split_at_checked(2)?;
    let length_bytes = match head[1] & 0x7f {
        0..=125 => 0,
        126 => 2,
        _ => return None,
    };
    let (extended, rest) = rest.split_at_checked(length_bytes)?;
    let length = match *extended {
        [high, low] => usize::from(u16::from_be_bytes([high, low])),
        _ => usize::from(head[1] & 0x7f),
    };
    let (mask, rest) = rest.split_at_checked(4)?;
    let (payload, rest) = rest.split_at_checked(length)?;
    answer.extend_from_slice(&[head[0], head[1] & 0x7f]);
    answer.extend_from_slice(extended);
    answer.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    Some(rest)
}

/// The load reads all that it is sent before it sends more, so a short write means that it has gone.
fn write(socket: &OwnedFd, bytes: &[u8]) -> Result<(), Ended> {
    match send(socket, bytes, SendFlags::NOSIGNAL) {
        Ok(written) if written == bytes.len() => Ok(()),
        _ => Err(Ended),
    }
}
