//! The floor of the benchmarks: what a loop costs that reads and writes and does nothing else.
//!
//! Nothing is parsed. The load's requests are all of one size, so counting bytes tells how many there were, and each is
//! answered by a constant. A lone request of any other size is the load's way to say `Connection: close`.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::{env, fs, io, thread};

use peer_floor::listen_reusing_port;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};

const USAGE: &str = "usage: floor-epoll ADDRESS LOOPS REQUEST_BYTES [BODY_FILE]";
const LISTENER: u64 = u64::MAX;
const EVENTS_AT_ONCE: usize = 512;
/// Larger than any pipelined batch of the load, so that one read empties the socket.
const READ_BYTES: usize = 64 * 1024;
/// Answers written at once; a longer batch takes more writes.
const ANSWERS_AT_ONCE: usize = 64;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, request_bytes, body_file @ ..] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let request_bytes: usize = request_bytes.parse().expect(USAGE);
    let body = match body_file {
        [] => b"Hello, World!".to_vec(),
        [file] => fs::read(file)?,
        _ => panic!("{USAGE}"),
    };
    let loops: Vec<_> = (0..loops.parse().expect(USAGE))
        .map(|_| {
            let mut floor = Loop::new(address, request_bytes, &body)?;
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
    request_bytes: usize,
    answer_bytes: usize,
    answers: Vec<u8>,
    closing_answer: Vec<u8>,
    received: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// Bytes of a request whose rest has not come yet.
    partial_bytes: usize,
}

impl Loop {
    fn new(address: SocketAddr, request_bytes: usize, body: &[u8]) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let listener = listen_reusing_port(address)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let answer = encode_answer(body, "");
        Ok(Self {
            epoll,
            listener,
            connections: Vec::new(),
            request_bytes,
            answer_bytes: answer.len(),
            answers: answer.repeat(ANSWERS_AT_ONCE),
            closing_answer: encode_answer(body, "Connection: close\r\n"),
            received: Vec::with_capacity(READ_BYTES),
        })
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
                    index => self.serve(index as usize),
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
        self.connections[index] = Some(Connection { socket, partial_bytes: 0 });
        Ok(())
    }

    fn serve(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else { return };
        self.received.clear();
        let count = match recv(&connection.socket, spare_capacity(&mut self.received), RecvFlags::empty()) {
            Ok((_, count)) if count > 0 => count,
            Err(rustix::io::Errno::AGAIN) => return,
            _ => return self.connections[index] = None,
        };
        if count != self.request_bytes && count < 2 * self.request_bytes && connection.partial_bytes == 0 {
            let _ = send(&connection.socket, &self.closing_answer, SendFlags::NOSIGNAL);
            return self.connections[index] = None;
        }
        let total = connection.partial_bytes + count;
        connection.partial_bytes = total % self.request_bytes;
        let mut left = total / self.request_bytes;
        while left > 0 {
            let batch = left.min(ANSWERS_AT_ONCE);
            let bytes = &self.answers[..batch * self.answer_bytes];
            // The load reads all that it asked for before it asks again, so a short write means that it has gone.
            match send(&connection.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(written) if written == bytes.len() => left -= batch,
                _ => return self.connections[index] = None,
            }
        }
    }
}

fn encode_answer(body: &[u8], connection: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n{connection}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
