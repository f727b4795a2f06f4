//! Opening sockets: many at a time, from many addresses.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use crate::clock::Moment;
use crate::control::Event;
use crate::deflate::Specimen;
use crate::handshake;
use crate::sockets::{Sockets, send_all};

/// How long it may take until the next socket is open.
const PROGRESS_LIMIT: Duration = Duration::from_secs(10);

/// What to open sockets to, and how.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddrV4,
    pub path: String,
    pub sockets: usize,
    pub source: Ipv4Addr,
    pub sources: u32,
    pub in_flight: usize,
    /// Whether to ask for permessage-deflate, and to exchange a compressed message at once.
    pub deflate: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Connecting,
    Upgrading,
    Exchanging,
    Open,
}

struct Opening<'a> {
    target: &'a Target,
    sockets: Sockets,
    states: Vec<State>,
    request: Vec<u8>,
    specimen: Option<Specimen>,
    opened: usize,
}

impl Target {
    /// Opens all sockets and says so; an error as soon as one fails.
    pub fn open(&self) -> anyhow::Result<Sockets> {
        self.open_shares(1)?.pop().context("there is a share")
    }

    /// The same in equal shares, for so many loops.
    pub fn open_shares(&self, count: usize) -> anyhow::Result<Vec<Sockets>> {
        let start = Moment::now();
        let shares = self.open_shares_quietly(count)?;
        let seconds = Moment::now().since(start).as_secs_f64();
        Event::Opened { sockets: self.sockets, seconds }.print()?;
        Ok(shares)
    }

    /// The same, without a word.
    pub fn open_shares_quietly(&self, count: usize) -> anyhow::Result<Vec<Sockets>> {
        (0..count).map(|index| self.share(index, count).open_quietly()).collect()
    }

    fn open_quietly(&self) -> anyhow::Result<Sockets> {
        let mut opening = Opening {
            target: self,
            sockets: Sockets::new(epoll::create(epoll::CreateFlags::CLOEXEC)?),
            states: Vec::new(),
            request: handshake::request(self.address, &self.path, self.deflate),
            specimen: self.deflate.then(Specimen::new),
            opened: 0,
        };
        let mut deadline = Moment::now().after(PROGRESS_LIMIT);
        while opening.opened < self.sockets {
            let before = opening.opened;
            opening.connect_more()?;
            for index in opening.sockets.wait(PROGRESS_LIMIT)? {
                opening.advance(index).with_context(|| format!("socket {index} of {}", self.sockets))?;
            }
            if opening.opened > before {
                deadline = Moment::now().after(PROGRESS_LIMIT);
            }
            ensure!(Moment::now() < deadline, "only {} of {} sockets are open", opening.opened, self.sockets);
        }
        Ok(opening.sockets)
    }

    fn share(&self, index: usize, count: usize) -> Self {
        let sockets = self.sockets / count + usize::from(index < self.sockets % count);
        Self { sockets, ..self.clone() }
    }

    fn source_of(&self, socket: usize) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.source.to_bits() + socket as u32 % self.sources)
    }
}

impl Opening<'_> {
    fn connect_more(&mut self) -> anyhow::Result<()> {
        while self.states.len() < self.target.sockets
            && self.states.len() - self.opened < self.target.in_flight
        {
            let source = self.target.source_of(self.states.len());
            self.sockets.add(connect_from(source, self.target.address)?)?;
            self.states.push(State::Connecting);
        }
        Ok(())
    }

    fn advance(&mut self, index: usize) -> anyhow::Result<()> {
        match self.states[index] {
            State::Connecting => self.upgrade(index),
            State::Upgrading => self.finish_upgrade(index),
            State::Exchanging => self.finish_exchange(index),
            // A ping, perhaps.
            State::Open => self.sockets.receive_from(index, &mut |_| Ok(())),
        }
    }

    fn upgrade(&mut self, index: usize) -> anyhow::Result<()> {
        let fd = &self.sockets.get_mut(index).fd;
        sockopt::socket_error(fd)?.context("connecting")?;
        send_all(fd, &self.request)?;
        self.states[index] = State::Upgrading;
        Ok(())
    }

    fn finish_upgrade(&mut self, index: usize) -> anyhow::Result<()> {
        let received = self.sockets.receive_raw(index)?;
        let Some(length) = handshake::check_response(received, self.target.deflate)? else { return Ok(()) };
        *received = received.split_off(length);
        match &self.specimen {
            Some(specimen) => {
                self.sockets.send(index, &specimen.compressed, true)?;
                self.states[index] = State::Exchanging;
            }
            None => self.is_open(index),
        }
        Ok(())
    }

    fn finish_exchange(&mut self, index: usize) -> anyhow::Result<()> {
        let specimen = self.specimen.as_ref().context("nothing is exchanged without deflate")?;
        let mut is_done = false;
        self.sockets.receive_from(index, &mut |arrival| {
            is_done = true;
            specimen.check(arrival.payload, arrival.is_compressed)
        })?;
        if is_done {
            self.is_open(index);
        }
        Ok(())
    }

    fn is_open(&mut self, index: usize) {
        self.states[index] = State::Open;
        self.opened += 1;
    }
}

fn connect_from(source: Ipv4Addr, address: SocketAddrV4) -> anyhow::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).context("a new socket")?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    // Its end is a reset: what lingered would be the next measurement's kernel memory, and would hold the port.
    sockopt::set_socket_linger(&fd, Some(Duration::ZERO))?;
    bind(&fd, &SocketAddrV4::new(source, 0)).with_context(|| format!("a port of {source}"))?;
    match connect(&fd, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
        Err(error) => Err(error).context("connecting"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(sockets: usize, sources: u32) -> Target {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
        let source = Ipv4Addr::new(127, 1, 0, 255);
        Target { address, path: "/ws".to_owned(), sockets, source, sources, in_flight: 1, deflate: false }
    }

    #[test]
    fn shares_add_up() {
        let shares = [0, 1, 2].map(|index| target(64, 1).share(index, 3).sockets);
        assert_eq!(shares, [22, 21, 21]);
    }

    #[test]
    fn addresses_take_turns_and_carry() {
        let sources = [0, 1, 2].map(|socket| target(3, 2).source_of(socket));
        let (first, second) = (Ipv4Addr::new(127, 1, 0, 255), Ipv4Addr::new(127, 1, 1, 0));
        assert_eq!(sources, [first, second, first]);
    }

    #[test]
    fn a_server_that_is_not_there_is_an_error() {
        assert!(target(1, 1).open().is_err());
    }
}
