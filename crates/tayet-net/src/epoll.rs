//! The driver over epoll: readiness in, completions out.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, Shutdown};

use crate::arrivals::Arrivals;
use crate::near_socket::NearSocket;
use crate::prefetch::{Companion, prefetch};
use crate::ready_queue::ReadyQueue;
use crate::return_stack;
use crate::rough_clock::RoughClock;
use crate::rouser::Rouser;
use crate::socket::SEND_FLAGS;
use crate::waker::EventFd;
use crate::{
    AcceptError, BatchedSend, Completion, Driver, Listener, Moment, Outgoing, Socket, Submitted, TcpSocket,
    Token, Waker,
};

/// Bytes read from a connection in one go at most, into the one buffer that all connections of the driver share; behind what was
/// received ahead, what that leaves. Half of what a body's pipe takes, so that what comes when it is half empty still fits.
pub(crate) const RECEIVE_BYTES: usize = 128 * 1024;

/// Events taken from the kernel in one go.
const EVENTS: usize = 512;

/// Connections accepted from one listener before others get their turn.
pub(crate) const ACCEPTS_A_TURN: usize = 64;

/// Multiplexes with epoll, edge-triggered: each connection is registered once, for all that may happen to it, and read
/// until the kernel has no more.
///
/// Where several connections are ready, it receives from some of them before it tells of the first (`arrivals.rs`): what a system
/// call drives out of the processor's caches is then fetched again once for all of them.
// On cache lines of its own, since its loop's thread writes here for each request.
#[derive(Debug)]
#[repr(align(128))]
pub struct Epoll {
    epoll: OwnedFd,
    wake: Arc<EventFd>,
    rouser: Rouser,
    listeners: Vec<Registered>,
    accepting: bool,
    sources: Vec<Option<Source>>,
    /// What is to be sent as soon as there is room, by the index of its source.
    unsent: HashMap<u32, Box<Outgoing>>,
    /// What the kernel told last: the word of whom it concerns, and what.
    events: Vec<(u64, EventFlags)>,
    /// The first of `events` that has not been looked at.
    cursor: usize,
    ready: ReadyQueue<Ready>,
    arrivals: Arrivals,
    accepted: Option<OwnedFd>,
    clock: RoughClock,
}

#[derive(Debug)]
struct Registered {
    index: usize,
    listener: Arc<Listener>,
}

#[derive(Debug)]
struct Source {
    socket: NearSocket,
    companion: Companion,
    generation: u32,
    input: Input,
    receiving: Receiving,
    sending: Sending,
    /// In `ready`, for reading.
    queued: bool,
}

/// Two to a cache line: each is looked at for every request, and there may be a hundred thousand.
const _: () = assert!(size_of::<Option<Source>>() <= 32);

/// What the kernel may have for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Nothing,
    Bytes,
    /// The peer has ended its sending direction: the end stands behind what can be read, and no edge will tell of it.
    End,
    /// An end or an error has been told; nothing is received any more.
    Over,
}

/// Whether it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Wanted,
    Paused,
    /// Others receive: the kernel does not tell of what comes.
    Lent,
}

/// What is to be done when something can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Nothing,
    /// To send what is in `unsent`.
    Rest,
    /// To tell its owner.
    Awaited,
}

#[derive(Debug)]
enum Ready {
    Receive(Token),
    Accept(usize),
}

/// What an attempt to receive has brought.
enum Arrival {
    Bytes {
        /// They fill the buffer: there may be more.
        is_full: bool,
    },
    Nothing,
    End,
    Broken(Errno),
}

impl Epoll {
    /// A driver with no connections.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = Arc::new(EventFd::new()?);
        epoll::add(&epoll, wake.fd(), EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        let rouser = Rouser::new()?;
        epoll::add(&epoll, rouser.fd(), EventData::new_u64(ROUSE), EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            epoll,
            wake,
            rouser,
            listeners: Vec::new(),
            accepting: true,
            sources: Vec::new(),
            unsent: HashMap::new(),
            events: Vec::with_capacity(EVENTS),
            cursor: 0,
            ready: ReadyQueue::new(),
            arrivals: Arrivals::new(RECEIVE_BYTES),
            accepted: None,
            clock: RoughClock::new(),
        })
    }

    fn source(&mut self, token: Token) -> Option<&mut Source> {
        let source = self.sources.get_mut(token.index as usize)?.as_mut()?;
        (source.generation == token.generation).then_some(source)
    }

    /// Queues a read of `token` if there may be something that its owner wants.
    fn queue_receive(&mut self, token: Token) {
        let Some(source) = self.source(token) else { return };
        if source.is_due() {
            source.queued = true;
            self.ready.put_behind(Ready::Receive(token));
        }
    }

    /// Has the kernel tell these things of a connection, and look at once whether one of them is so.
    fn register_again(&mut self, token: Token, flags: EventFlags) {
        let Self { epoll, sources, .. } = self;
        let Some(Some(source)) = sources.get(token.index as usize) else { return };
        if let Err(error) = epoll::modify(&*epoll, &source.socket, EventData::new_u64(token.to_bits()), flags)
        {
            tracing::error!(%error, "a connection could not be looked at again");
        }
    }

    fn register_listener(&self, position: usize) -> io::Result<()> {
        // Exclusive: of the loops that share a Unix listener, one is woken for a connection.
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        let data = EventData::new_u64(LISTENER | position as u64);
        Ok(epoll::add(&self.epoll, &*self.listeners[position].listener, data, flags)?)
    }

    /// Whom the next event concerns, if that is a connection.
    #[inline]
    fn upcoming_event(&self) -> Option<Token> {
        let &(data, _) = self.events.get(self.cursor)?;
        (data & LISTENER == 0).then(|| Token::from_bits(data))
    }

    /// Has this connection's source fetched while the kernel is busy with another.
    #[inline]
    fn prefetch(&self, upcoming: Option<Token>) {
        if let Some(place) = upcoming.and_then(|token| self.sources.get(token.index as usize)) {
            prefetch(place);
        }
    }

    /// Looks at what the kernel told. Bytes join what has arrived; anything else is told of at once.
    // Inlined always, as is what it calls to receive: so no function returns between two connections that are received from, and the
    // return stack need be refilled behind the last alone.
    #[inline(always)]
    fn look_at(&mut self, data: u64, flags: EventFlags) -> Option<Completion> {
        if data & LISTENER != 0 {
            return self.look_at_listener(data);
        }
        let Self { sources, arrivals, ready, .. } = self;
        let token = Token::from_bits(data);
        let source = sources.get_mut(token.index as usize)?.as_mut()?;
        if source.generation != token.generation {
            return None;
        }
        if source.is_wanted_for_more_than_input(flags) {
            return self.look_at_all(token, flags);
        }
        if flags.contains(EventFlags::IN) {
            source.note_bytes();
        }
        if source.is_due() { source.receive(token, arrivals, ready) } else { None }
    }

    #[inline(never)]
    fn look_at_listener(&mut self, data: u64) -> Option<Completion> {
        match data {
            WAKE => None,
            ROUSE => {
                self.rouser.gone_off();
                None
            }
            listener => self.accept((listener & !LISTENER) as usize, ACCEPTS_A_TURN),
        }
    }

    /// Looks at what is rarer than bytes that have come: an end, an error, room to send.
    #[inline(never)]
    fn look_at_all(&mut self, token: Token, flags: EventFlags) -> Option<Completion> {
        let source = self.source(token)?;
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if (broken || flags.contains(EventFlags::RDHUP)) && source.input != Input::Over {
            source.input = Input::End;
        } else if flags.contains(EventFlags::IN) {
            source.note_bytes();
        }
        if flags.contains(EventFlags::OUT) || broken {
            match source.sending {
                Sending::Nothing => {}
                Sending::Rest => {
                    self.queue_receive(token);
                    return self.resume_send(token);
                }
                Sending::Awaited => {
                    source.sending = Sending::Nothing;
                    self.queue_receive(token);
                    return Some(Completion::Writable(token));
                }
            }
        }
        if source.is_due() { self.receive(token) } else { None }
    }

    #[inline(never)]
    fn receive(&mut self, token: Token) -> Option<Completion> {
        let Self { sources, arrivals, ready, .. } = self;
        let source = sources.get_mut(token.index as usize)?.as_mut()?;
        if source.generation != token.generation
            || source.receiving != Receiving::Wanted
            || source.input == Input::Over
        {
            return None;
        }
        let completion = source.receive(token, arrivals, ready);
        return_stack::refill();
        completion
    }

    fn resume_send(&mut self, token: Token) -> Option<Completion> {
        let Self { sources, unsent, .. } = self;
        let source = sources.get_mut(token.index as usize)?.as_mut()?;
        let mut outgoing = unsent.remove(&token.index)?;
        match outgoing.send_some(&**source.socket.handle()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                unsent.insert(token.index, outgoing);
                None
            }
            result => {
                source.sending = Sending::Nothing;
                Some(Completion::Sent(token, outgoing, result))
            }
        }
    }

    fn accept(&mut self, position: usize, turns: usize) -> Option<Completion> {
        if !self.accepting {
            return None;
        }
        let registered = self.listeners.get(position)?;
        match registered.listener.accept() {
            Ok((socket, peer)) => {
                let listener = registered.index;
                self.accepted = Some(socket);
                if turns > 1 {
                    self.ready.go_on_with(Ready::Accept(position | (turns - 1) << ACCEPT_TURNS_SHIFT));
                }
                Some(Completion::Accepted { listener, peer })
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => {
                let error = AcceptError::from(error);
                if let AcceptError::Exhausted(_) = error {
                    self.set_accepting(false);
                }
                Some(Completion::AcceptFailed(error))
            }
        }
    }

    /// Tells of the next bytes that have arrived.
    #[inline]
    fn tell(&mut self) -> Option<Completion> {
        let (token, length) = self.arrivals.tell()?;
        Some(Completion::Received(token, length))
    }

    fn take_ready(&mut self) -> Option<Completion> {
        while let Some(ready) = self.ready.take() {
            let completion = match ready {
                Ready::Accept(packed) => {
                    self.accept(packed & ((1 << ACCEPT_TURNS_SHIFT) - 1), packed >> ACCEPT_TURNS_SHIFT)
                }
                Ready::Receive(token) => {
                    if let Some(source) = self.source(token) {
                        source.queued = false;
                    }
                    self.receive(token)
                }
            };
            if completion.is_some() {
                return completion;
            }
            if let Some(completion) = self.tell() {
                return Some(completion);
            }
        }
        None
    }
}

impl Source {
    /// Whether something of what the kernel tells concerns more than what can be read.
    fn is_wanted_for_more_than_input(&self, flags: EventFlags) -> bool {
        flags.intersects(ENDS) || self.sending != Sending::Nothing
    }

    /// Whether it is to be received from now.
    fn is_due(&self) -> bool {
        matches!(self.input, Input::Bytes | Input::End) && self.receiving == Receiving::Wanted && !self.queued
    }

    /// The kernel has something to read.
    fn note_bytes(&mut self) {
        if self.input == Input::Nothing {
            self.input = Input::Bytes;
        }
    }

    /// It has nothing more, unless an end stands behind what it had.
    fn note_that_all_is_read(&mut self) {
        if self.input == Input::Bytes {
            self.input = Input::Nothing;
        }
    }

    /// Receives: bytes join what has arrived, and an end is told of at once.
    // Inlined always: between two connections that are received from, what the kernel has driven out of the caches is little then.
    #[inline(always)]
    fn receive(
        &mut self,
        token: Token,
        arrivals: &mut Arrivals,
        ready: &mut ReadyQueue<Ready>,
    ) -> Option<Completion> {
        self.companion.prefetch();
        match receive(&self.socket, arrivals.buffer()) {
            Arrival::Bytes { is_full: true } => {
                self.queued = true;
                ready.put_behind(Ready::Receive(token));
            }
            Arrival::Bytes { is_full: false } if self.input == Input::End => {
                self.queued = true;
                ready.go_on_with(Ready::Receive(token));
            }
            // A short read has emptied the socket: the next byte, or an end that was not there yet, is a new edge.
            Arrival::Bytes { is_full: false } => self.note_that_all_is_read(),
            Arrival::Nothing => {
                self.note_that_all_is_read();
                return None;
            }
            Arrival::End => {
                self.input = Input::Over;
                return Some(Completion::Ended(token));
            }
            Arrival::Broken(error) => {
                self.input = Input::Over;
                return Some(Completion::Broken(token, error.into()));
            }
        }
        arrivals.add(token);
        None
    }
}

/// Appends what has come to `buffer`, as far as that has room. Whoever receives so refills the return stack behind it.
#[inline(always)]
fn receive(socket: &NearSocket, buffer: &mut Vec<u8>) -> Arrival {
    loop {
        return match net::recv(socket, spare_capacity(buffer), RecvFlags::DONTWAIT) {
            Ok((_, 0)) => Arrival::End,
            Ok(_) => Arrival::Bytes { is_full: buffer.len() == buffer.capacity() },
            Err(Errno::AGAIN) => Arrival::Nothing,
            Err(Errno::INTR) => continue,
            Err(error) => Arrival::Broken(error),
        };
    }
}

impl Driver for Epoll {
    fn listen(&mut self, index: usize, listener: Arc<Listener>) -> io::Result<()> {
        self.listeners.push(Registered { index, listener });
        if self.accepting { self.register_listener(self.listeners.len() - 1) } else { Ok(()) }
    }

    fn set_accepting(&mut self, accepting: bool) {
        if self.accepting == accepting {
            return;
        }
        self.accepting = accepting;
        for position in 0..self.listeners.len() {
            let changed = if accepting {
                self.register_listener(position)
            } else {
                epoll::delete(&self.epoll, &*self.listeners[position].listener).map_err(io::Error::from)
            };
            if let Err(error) = changed {
                tracing::error!(%error, accepting, "a listener could not be switched");
            }
        }
    }

    fn stop_accepting(&mut self) {
        self.set_accepting(false);
        self.listeners.clear();
    }

    fn attach(&mut self, token: Token) -> io::Result<()> {
        let Some(socket) = self.accepted.take() else { return Err(io::ErrorKind::NotConnected.into()) };
        let added = epoll::add(&self.epoll, &socket, EventData::new_u64(token.to_bits()), EVERYTHING);
        return_stack::refill();
        added?;
        let index = token.index as usize;
        if index >= self.sources.len() {
            if index >= self.sources.capacity() {
                // Growing by an eighth, not by doubling: there may be a hundred thousand.
                self.sources.reserve_exact(index / 8 + 1 + index - self.sources.len());
            }
            self.sources.resize_with(index + 1, || None);
        }
        self.sources[index] = Some(Source {
            socket: NearSocket::new(Arc::new(TcpSocket(socket))),
            companion: Companion::default(),
            generation: token.generation,
            input: Input::Nothing,
            receiving: Receiving::Wanted,
            sending: Sending::Nothing,
            queued: false,
        });
        Ok(())
    }

    fn take_accepted(&mut self) -> Option<OwnedFd> {
        self.accepted.take()
    }

    fn put_accepted(&mut self, socket: OwnedFd) {
        self.accepted = Some(socket);
    }

    fn set_companion(&mut self, token: Token, companion: Companion) {
        if let Some(source) = self.source(token) {
            source.companion = companion;
        }
    }

    fn set_receiving(&mut self, token: Token, receiving: bool) {
        let Some(source) = self.source(token) else { return };
        match (source.receiving, receiving) {
            (Receiving::Lent, true) => {
                source.receiving = Receiving::Wanted;
                self.register_again(token, EVERYTHING);
            }
            (Receiving::Lent, false) => {}
            (_, true) => source.receiving = Receiving::Wanted,
            (_, false) => source.receiving = Receiving::Paused,
        }
        self.queue_receive(token);
    }

    fn lend_receiving(&mut self, token: Token) -> bool {
        let has_untold = self.arrivals.untold().contains(&token);
        let Some(source) = self.source(token) else { return false };
        if source.input == Input::Over || has_untold {
            return false;
        }
        source.receiving = Receiving::Lent;
        self.register_again(token, ALL_BUT_INPUT);
        true
    }

    fn send(&mut self, token: Token, outgoing: &mut Outgoing) -> Submitted {
        let Some(source) = self.source(token) else {
            return Submitted::Done(Err(io::ErrorKind::NotConnected.into()));
        };
        match outgoing.send_some(&**source.socket.handle()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                source.sending = Sending::Rest;
                self.unsent.insert(token.index, Box::new(std::mem::take(outgoing)));
                Submitted::Pending
            }
            result => Submitted::Done(result),
        }
    }

    fn send_batch(&mut self, sends: &mut [BatchedSend]) {
        for at in 0..sends.len() {
            // Behind the last of them is the next that is to be received from.
            let upcoming = sends.get(at + 1).map(|send| send.token);
            self.prefetch(upcoming.or_else(|| self.upcoming_event()));
            let BatchedSend { token, bytes, sent } = &mut sends[at];
            if let Some(source) = self.source(*token) {
                *sent = net::send(&source.socket, bytes, SEND_FLAGS).unwrap_or(0);
            }
        }
        return_stack::refill();
    }

    fn await_writable(&mut self, token: Token) {
        let Some(source) = self.source(token) else { return };
        source.sending = Sending::Awaited;
        // The edge may have come already, when nobody waited for it. This has the kernel look again.
        let is_lent = source.receiving == Receiving::Lent;
        self.register_again(token, if is_lent { ALL_BUT_INPUT } else { EVERYTHING });
    }

    fn shutdown_send(&mut self, token: Token) {
        if let Some(source) = self.source(token) {
            let _ = net::shutdown(&source.socket, Shutdown::Write);
        }
    }

    fn detach(&mut self, token: Token) {
        self.arrivals.forget(token);
        if self.source(token).is_none() {
            return;
        }
        if let Some(source) = self.sources[token.index as usize].take() {
            if source.sending == Sending::Rest {
                self.unsent.remove(&token.index);
            }
            // Closing removes the registration, unless another handle keeps the socket open.
            let handle = source.socket.handle();
            if Arc::strong_count(handle) > 1 {
                let _ = epoll::delete(&self.epoll, handle);
                handle.shutdown();
            }
        }
    }

    fn socket(&self, token: Token) -> Option<Arc<dyn Socket>> {
        let source = self.sources.get(token.index as usize)?.as_ref()?;
        (source.generation == token.generation).then(|| Arc::clone(source.socket.handle()) as Arc<dyn Socket>)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if !self.arrivals.untold().is_empty() || self.ready.has_turn() || self.cursor < self.events.len() {
            return Ok(());
        }
        let looks_only = !self.ready.is_empty() || timeout == Some(Duration::ZERO);
        self.ready.begin_turn();
        if let Some(timeout) = timeout
            && !looks_only
        {
            self.rouser.ensure(self.clock.told(), timeout);
        }
        self.events.clear();
        self.cursor = 0;
        let at_once = looks_only.then_some(Timespec { tv_sec: 0, tv_nsec: 0 });
        let mut events = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        let result = epoll::wait(&self.epoll, &mut events, at_once.as_ref());
        return_stack::refill();
        match result {
            Ok((events, _)) => {
                self.events.extend(events.iter().map(|event| (event.data.u64(), event.flags)));
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn next(&mut self) -> Option<Completion> {
        self.accepted = None;
        if let Some(completion) = self.tell() {
            return Some(completion);
        }
        self.arrivals.clear();
        while !self.arrivals.are_enough()
            && let Some(&(data, flags)) = self.events.get(self.cursor)
            // A listener's turn is behind those who came before.
            && (data & LISTENER == 0 || self.arrivals.untold().is_empty())
        {
            self.cursor += 1;
            self.prefetch(self.upcoming_event());
            if let Some(completion) = self.look_at(data, flags) {
                return_stack::refill();
                return Some(completion);
            }
        }
        return_stack::refill();
        self.tell().or_else(|| self.take_ready())
    }

    fn received(&self) -> &[u8] {
        self.arrivals.told()
    }

    fn received_ahead(&self) -> &[Token] {
        self.arrivals.untold()
    }

    fn waker(&self) -> Waker {
        Arc::clone(&self.wake) as Waker
    }

    fn now(&mut self) -> Moment {
        self.clock.now()
    }

    fn now_roughly(&mut self) -> Moment {
        self.clock.now_roughly()
    }
}

/// All that may happen to a connection.
const EVERYTHING: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// The same of one that others receive from.
const ALL_BUT_INPUT: EventFlags = EVERYTHING.difference(EventFlags::IN);

/// What comes at the end of what can be received.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::ERR).union(EventFlags::HUP);

/// Marks the words of events that are not a connection's; no connection has a generation that high.
const LISTENER: u64 = 1 << 63;
const WAKE: u64 = u64::MAX;
const ROUSE: u64 = u64::MAX - 1;
const ACCEPT_TURNS_SHIFT: usize = 32;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;

    use super::*;
    use crate::arrivals;
    use crate::driver_tests::{OTHER, TOKEN, assert_received, assert_silent, connect, listening, next};

    /// A driver with so many connections and their clients.
    fn crowd(count: u32) -> (Epoll, Vec<TcpStream>) {
        let (mut driver, address) = listening::<Epoll>();
        let clients = (0..count).map(|index| connect(&mut driver, address, token(index))).collect();
        assert_silent(&mut driver);
        (driver, clients)
    }

    fn token(index: u32) -> Token {
        Token { index, generation: 0 }
    }

    #[test]
    fn several_that_are_ready_are_received_from_before_the_first_is_told_of() {
        let most = arrivals::MOST as u32;
        let (mut driver, mut clients) = crowd(most + 2);
        assert!(driver.received_ahead().is_empty());
        for (index, client) in clients.iter_mut().enumerate() {
            write!(client, "from {index}").unwrap();
        }
        for index in 0..most + 2 {
            assert_received(&mut driver, token(index), format!("from {index}").as_bytes());
            let end = if index < most { most } else { most + 2 };
            let ahead: Vec<_> = (index + 1..end).map(token).collect();
            assert_eq!(driver.received_ahead(), ahead, "behind {index}");
        }
        assert_silent(&mut driver);
    }

    #[test]
    fn behind_many_bytes_nothing_is_received_ahead() {
        let (mut driver, mut clients) = crowd(2);
        clients[0].write_all(&vec![b'x'; arrivals::ENOUGH_BYTES]).unwrap();
        clients[1].write_all(b"abc").unwrap();
        let mut received = 0;
        while received < arrivals::ENOUGH_BYTES {
            assert!(matches!(next(&mut driver), Completion::Received(TOKEN, _)));
            received += driver.received().len();
        }
        assert!(driver.received_ahead().is_empty());
        assert_received(&mut driver, OTHER, b"abc");
    }

    #[test]
    fn what_was_received_ahead_is_not_lent_away_and_told_though_it_is_paused_and_dropped_with_its_connection()
    {
        let (mut driver, mut clients) = crowd(4);
        clients.iter_mut().for_each(|client| client.write_all(b"abc").unwrap());
        assert_received(&mut driver, token(0), b"abc");
        assert!(!driver.lend_receiving(token(1)), "others would receive what is behind it");
        assert!(driver.lend_receiving(token(0)), "nothing more has come");
        driver.set_receiving(token(2), false);
        driver.detach(token(3));
        assert_received(&mut driver, token(1), b"abc");
        assert_received(&mut driver, token(2), b"abc");
        clients[2].write_all(b"def").unwrap();
        assert_silent(&mut driver);
        driver.set_receiving(token(2), true);
        assert_received(&mut driver, token(2), b"def");
    }
}
