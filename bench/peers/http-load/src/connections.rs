//! A thread's share of the connections to one server.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::answer::BEGINNING;

/// How long there may be no answer at all.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const EVENTS_AT_ONCE: usize = 512;
/// Of a read: larger than what one connection is answered at once.
const READ_BYTES: usize = 256 * 1024;

pub struct Connections {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// What is sent at once on a connection.
    requests: Vec<u8>,
    /// How many that are, and how long the answers are together.
    pipelined: u32,
    answers_bytes: usize,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// Of the answers to what was asked last.
    missing_bytes: usize,
}

impl Connections {
    pub fn open(
        server: SocketAddr,
        connections: u32,
        requests: Vec<u8>,
        answer_bytes: usize,
        pipelined: u32,
    ) -> anyhow::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let open = |index| {
            let stream = TcpStream::connect(server).with_context(|| format!("connecting to {server}"))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(&epoll, &stream, EventData::new_u64(index), EventFlags::IN)?;
            Ok(Connection { stream, missing_bytes: 0 })
        };
        let connections = (0..u64::from(connections)).map(open).collect::<anyhow::Result<_>>()?;
        let answers_bytes = answer_bytes * pipelined as usize;
        Ok(Self { epoll, connections, requests, pipelined, answers_bytes, buffer: vec![0; READ_BYTES] })
    }

    /// Asks on every connection, and again when all is answered, until `end`. How many requests were answered: all that were sent.
    pub fn load(&mut self, end: Instant) -> anyhow::Result<u64> {
        for index in 0..self.connections.len() {
            self.ask(index)?;
        }
        let (mut asking, mut answered) = (self.connections.len(), 0);
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_AT_ONCE);
        while asking > 0 {
            self.wait(&mut events)?;
            let goes_on = Instant::now() < end;
            for event in &events {
                let index = event.data.u64() as usize;
                if !self.receive(index)? {
                    continue;
                }
                answered += u64::from(self.pipelined);
                if goes_on {
                    self.ask(index)?;
                } else {
                    asking -= 1;
                }
            }
        }
        Ok(answered)
    }

    fn ask(&mut self, index: usize) -> anyhow::Result<()> {
        let connection = &mut self.connections[index];
        let sent = connection.stream.write(&self.requests).context("sending")?;
        ensure!(sent == self.requests.len(), "what is sent at once does not fit into a socket");
        connection.missing_bytes = self.answers_bytes;
        Ok(())
    }

    fn wait(&self, events: &mut Vec<Event>) -> anyhow::Result<()> {
        let limit = Timespec::try_from(ANSWER_LIMIT)?;
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&limit)) {
            // A tracer that attaches interrupts the wait.
            Err(Errno::INTR) => Ok(()),
            Ok(count) => {
                ensure!(count > 0, "there was no answer for {} s", ANSWER_LIMIT.as_secs());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether all is answered that was asked last on this connection.
    fn receive(&mut self, index: usize) -> anyhow::Result<bool> {
        let connection = &mut self.connections[index];
        let count = match connection.stream.read(&mut self.buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            result => result.context("receiving")?,
        };
        ensure!(count > 0, "the server closed a connection");
        let is_beginning = connection.missing_bytes == self.answers_bytes;
        let is_right = count < BEGINNING.len() || self.buffer.starts_with(BEGINNING);
        ensure!(!is_beginning || is_right, "an answer is no 200");
        ensure!(count <= connection.missing_bytes, "the answers are longer than the first one was");
        connection.missing_bytes -= count;
        Ok(connection.missing_bytes == 0)
    }
}
