//! The floor for WebSockets: what a loop costs that unmasks frames and sends them back, or to all of one topic.
//!
//! It takes what the load sends and nothing else: the handshake with RFC 6455's own example of a key, and unfragmented
//! messages that end within a read. All topics are one.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::{env, io, mem};

use peer_floor::{Ended, READ_BYTES, Service, receive, run};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-websocket ADDRESS LOOPS";
const TOPIC: &[u8] = b"GET /ws/topic/";
/// The answer to the key of the example in RFC 6455, section 1.3.
const ACCEPTANCE: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let outlets = (0..loops.parse().expect(USAGE)).map(|_: usize| Outlet::new());
    let outlets = Arc::new(outlets.collect::<io::Result<Vec<_>>>()?);
    let loops = 0..outlets.len();
    run(address, loops.map(|own| Ok(Sockets::new(Arc::clone(&outlets), own))))
}

/// What is published to the sockets of one loop, by any.
struct Outlet {
    waker: OwnedFd,
    frames: Mutex<Vec<u8>>,
}

impl Outlet {
    fn new() -> io::Result<Self> {
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waker, frames: Mutex::default() })
    }

    fn put(&self, frames: &[u8]) {
        self.frames.lock().expect("nothing panics under the lock").extend_from_slice(frames);
        // It fails only if it is set already, to as much as it holds.
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }

    fn take(&self) -> Vec<u8> {
        let _ = rustix::io::read(&self.waker, &mut [0; 8]);
        mem::take(&mut self.frames.lock().expect("nothing panics under the lock"))
    }
}

/// The sockets of one loop.
struct Sockets {
    /// Those that get what is published.
    members: Vec<usize>,
    outlets: Arc<Vec<Outlet>>,
    /// Which of them is this loop's.
    own: usize,
    received: Vec<u8>,
    answer: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Handshake,
    Echo,
    Topic,
}

impl Sockets {
    fn new(outlets: Arc<Vec<Outlet>>, own: usize) -> Self {
        let received = Vec::with_capacity(READ_BYTES);
        Self { members: Vec::new(), outlets, own, received, answer: Vec::new() }
    }
}

impl Service for Sockets {
    type Connection = Connection;

    fn open(&self, socket: OwnedFd) -> Connection {
        Connection { socket, state: State::Handshake }
    }

    fn serve(&mut self, index: usize, connection: &mut Connection) -> Result<(), Ended> {
        if !receive(&connection.socket, &mut self.received)? {
            return Ok(());
        }
        if connection.state == State::Handshake {
            connection.state = shake_hands(&connection.socket, &self.received)?;
            if connection.state == State::Topic {
                self.members.push(index);
            }
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
        self.outlets.iter().for_each(|outlet| outlet.put(&self.answer));
        Ok(())
    }

    fn waker(&self) -> Option<BorrowedFd<'_>> {
        Some(self.outlets[self.own].waker.as_fd())
    }

    fn wake(&mut self, connections: &[Option<Connection>]) {
        let frames = self.outlets[self.own].take();
        for &member in &self.members {
            if let Some(connection) = &connections[member] {
                // Whose end this is, its own event tells.
                let _ = write(&connection.socket, &frames);
            }
        }
    }

    fn forget(&mut self, index: usize, connection: Connection) {
        if connection.state == State::Topic {
            self.members.retain(|member| *member != index);
        }
    }
}

fn shake_hands(socket: &OwnedFd, request: &[u8]) -> Result<State, Ended> {
    if !request.ends_with(b"\r\n\r\n") {
        return Err(Ended);
    }
    write(socket, ACCEPTANCE)?;
    Ok(if request.starts_with(TOPIC) { State::Topic } else { State::Echo })
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
