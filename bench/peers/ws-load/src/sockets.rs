//! Open WebSockets and the loop that reads them.

use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::frame::{self, Masks, Opcode};

const EVENTS_AT_ONCE: usize = 1024;
const READ_BYTES: usize = 64 * 1024;

/// Sockets by their index, all registered with one poller, edge-triggered.
pub struct Sockets {
    epoll: OwnedFd,
    all: Vec<Socket>,
    received: Vec<u8>,
    pub masks: Masks,
    /// Pings answered.
    pub pings: u64,
}

/// A socket with what has come of a message that is not there as a whole.
pub struct Socket {
    pub fd: OwnedFd,
    pub partial: Vec<u8>,
    pub is_pinged: bool,
}

/// A message that has come.
pub struct Arrival<'a> {
    pub index: usize,
    pub is_compressed: bool,
    pub payload: &'a [u8],
    pub fd: &'a OwnedFd,
    pub masks: &'a mut Masks,
}

impl Sockets {
    pub fn new(epoll: OwnedFd) -> Self {
        Self {
            epoll,
            all: Vec::new(),
            received: Vec::with_capacity(READ_BYTES),
            masks: Masks::new(),
            pings: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn pinged(&self) -> usize {
        self.all.iter().filter(|socket| socket.is_pinged).count()
    }

    /// Adds a socket and says which index it got.
    pub fn add(&mut self, fd: OwnedFd) -> anyhow::Result<usize> {
        let index = self.all.len();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &fd, epoll::EventData::new_u64(index as u64), flags)?;
        self.all.push(Socket { fd, partial: Vec::new(), is_pinged: false });
        Ok(index)
    }

    pub fn get_mut(&mut self, index: usize) -> &mut Socket {
        &mut self.all[index]
    }

    /// Sends a message on the socket of `index`.
    pub fn send(&mut self, index: usize, payload: &[u8], is_compressed: bool) -> anyhow::Result<()> {
        send_frame(&self.all[index].fd, Opcode::Text, is_compressed, payload, &mut self.masks)
    }

    /// Waits for so long at most and says on which sockets something has happened.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<Vec<usize>> {
        let limit = Timespec::try_from(limit).context("the wait is too long")?;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS_AT_ONCE);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting"),
        }
        Ok(events.iter().map(|event| event.data.u64() as usize).collect())
    }

    /// Reads what has come on all sockets, for so long at most when nothing has; answers pings.
    pub fn receive(
        &mut self,
        limit: Duration,
        mut on_message: impl FnMut(Arrival<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for index in self.wait(limit)? {
            self.receive_from(index, &mut on_message)?;
        }
        Ok(())
    }

    /// Reads what has come on one socket.
    pub fn receive_from(
        &mut self,
        index: usize,
        on_message: &mut impl FnMut(Arrival<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Socket { fd, partial, is_pinged } = &mut self.all[index];
        loop {
            self.received.clear();
            let is_all = read(fd, &mut self.received)? < READ_BYTES;
            let is_whole = partial.is_empty();
            if !is_whole {
                partial.extend_from_slice(&self.received);
            }
            let input = if is_whole { &self.received } else { &*partial };
            let mut taken = 0;
            while let Some((frame, length)) = frame::parse(&input[taken..])? {
                taken += length;
                match frame.opcode {
                    Opcode::Text => on_message(Arrival {
                        index,
                        is_compressed: frame.is_compressed,
                        payload: frame.payload,
                        fd,
                        masks: &mut self.masks,
                    })?,
                    Opcode::Ping => {
                        send_frame(fd, Opcode::Pong, false, frame.payload, &mut self.masks)?;
                        self.pings += 1;
                        *is_pinged = true;
                    }
                    Opcode::Pong => {}
                    Opcode::Close => bail!("the server closed a socket: {}", reason(frame.payload)),
                }
            }
            // What is left is seldom anything, and then it must not cost a buffer for each idle socket.
            *partial = input[taken..].to_vec();
            if is_all {
                return Ok(());
            }
        }
    }

    /// Takes what has come on a socket that is not open yet, to what is left of before.
    pub fn receive_raw(&mut self, index: usize) -> anyhow::Result<&mut Vec<u8>> {
        let socket = &mut self.all[index];
        self.received.clear();
        read(&socket.fd, &mut self.received)?;
        socket.partial.extend_from_slice(&self.received);
        Ok(&mut socket.partial)
    }
}

impl Arrival<'_> {
    /// Sends a message on the same socket.
    pub fn reply(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        send_frame(self.fd, Opcode::Text, false, payload, self.masks)
    }
}

/// Sends all of `bytes`. There is never more under way than any socket's buffer holds, so a short write is an error.
pub fn send_all(fd: &OwnedFd, bytes: &[u8]) -> anyhow::Result<()> {
    let sent = send(fd, bytes, SendFlags::NOSIGNAL).context("sending")?;
    ensure!(sent == bytes.len(), "the server does not read");
    Ok(())
}

fn send_frame(
    fd: &OwnedFd,
    opcode: Opcode,
    is_compressed: bool,
    payload: &[u8],
    masks: &mut Masks,
) -> anyhow::Result<()> {
    let mut bytes = Vec::with_capacity(payload.len() + 8);
    frame::encode(opcode, is_compressed, payload, masks, &mut bytes);
    send_all(fd, &bytes)
}

/// Appends what has come, up to `READ_BYTES`; returns how much that is, which may be nothing.
fn read(fd: &OwnedFd, received: &mut Vec<u8>) -> anyhow::Result<usize> {
    match recv(fd, spare_capacity(received), RecvFlags::empty()) {
        Ok((_, 0)) => bail!("the server closed a connection"),
        Ok((_, count)) => Ok(count),
        Err(Errno::AGAIN) => Ok(0),
        Err(error) => Err(error).context("receiving"),
    }
}

fn reason(payload: &[u8]) -> String {
    match payload {
        [high, low, reason @ ..] => {
            format!("{} {}", u16::from_be_bytes([*high, *low]), String::from_utf8_lossy(reason))
        }
        _ => "without a code".to_owned(),
    }
}
