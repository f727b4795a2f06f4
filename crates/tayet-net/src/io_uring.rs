//! The driver over io_uring: the kernel is told what is wanted, and says what came of it.
//!
//! Receiving is armed once and goes on by itself; what is received lands in a ring of buffers that all connections of the
//! driver share, and several connections are gathered before the first is told of (`ahead.rs`). What they are answered then goes as one
//! batch, of which the kernel has taken what goes when the call returns. Other sends that follow each other within a turn are handed over
//! together, with the one system call that also waits.
//!
//! A send never waits in the kernel: it is tried, and if there is no room, room is waited for. A loop that changes its thread changes its
//! ring, too (`takeover.rs`).
//!
//! **What is left out**, since it saved nothing when it was tried (docs/performance.md): fixed files (workers write to the same
//! sockets, so that a descriptor is needed besides), sending without a copy (over the loopback interface the kernel copies all
//! the same, and there was no other to find a size with), and waking by a message from ring to ring (workers have no ring, and
//! an eventfd takes one system call, too).

mod abilities;
mod ahead;
mod lending;
mod operation;
mod source;
mod surroundings;
mod sys;
mod takeover;
mod unavailable;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, Shutdown};

use self::ahead::Ahead;
use self::operation::{Epoch, Operation};
use self::source::{Held, Sending, Source};
pub(crate) use self::surroundings::Surroundings;
use self::sys::{Event, Filled, Ring};
#[cfg(test)]
pub(crate) use self::sys::{MOST_RECEIVE_BUFFERS, RECEIVE_BUFFER_BYTES};
use self::takeover::RING_RETRY;
pub use self::unavailable::Unavailable;
use crate::ready_queue::ReadyQueue;
use crate::rough_clock::RoughClock;
use crate::socket::SEND_FLAGS;
use crate::waker::EventFd;
use crate::{
    AcceptError, BatchedSend, Companion, Completion, Driver, Listener, Moment, Outgoing, Socket, Submitted,
    TcpSocket, Token, Waker, prefetch,
};

/// Connections accepted before others get their turn.
const ACCEPTS_A_TURN: usize = 64;

/// Sends that are gathered before the kernel is told of them.
const GATHERED_SENDS: usize = 64;

/// Longest that a send is kept back while others are gathered, in microseconds, looked at when one follows. (What a long
/// handler then keeps waiting goes when its loop is taken.)
const GATHERING_US: u64 = 50;

/// Multiplexes with io_uring.
// On cache lines of its own, since its loop's thread writes here for each request.
#[repr(align(128))]
pub struct IoUring {
    ring: Ring,
    wake: Arc<EventFd>,
    /// Whose the ring is, once somebody drives.
    thread: Option<ThreadId>,
    /// Another was to be had for a thread, and is not yet.
    lacks_ring: bool,
    epoch: Epoch,
    /// What the ring before it did for the connections is not armed in this one.
    is_to_rearm: bool,
    listeners: Vec<Registered>,
    accepting: bool,
    /// Connections that may still be accepted before the kernel is asked again.
    accepts_left: usize,
    accepted: Option<OwnedFd>,
    sources: Vec<Option<Source>>,
    free_slots: Vec<u32>,
    /// The slots of the connections, by the index of their token.
    slots: Vec<Option<u32>>,
    events: VecDeque<Event>,
    ahead: Ahead,
    /// Slots with something that is held and wanted.
    ready: ReadyQueue<u32>,
    received: Received,
    /// Buffers whose bytes are held, and the slots of the connections: until their receiving has ended, the kernel would go
    /// on filling what it is given back.
    withheld: Vec<(u32, Filled)>,
    gathering_since: Option<Moment>,
    /// More buffers were provided in this turn.
    has_more_buffers: bool,
    clock: RoughClock,
}

struct Registered {
    index: usize,
    listener: Arc<Listener>,
    /// Connections may be waiting.
    has_more: bool,
}

/// Where the bytes of the last [`Completion::Received`] lie.
enum Received {
    Nothing,
    Buffer(Filled),
    Held(Vec<u8>),
}

impl IoUring {
    /// A driver with no connections.
    ///
    /// # Errors
    ///
    /// When the kernel gives no ring, or one that lacks what this needs (Linux 6.1).
    pub fn new() -> Result<Self, Unavailable> {
        let mut ring = Ring::open()?;
        let wake = Arc::new(EventFd::new().map_err(Unavailable::Other)?);
        let epoch = Epoch::default();
        ring.watch(wake.fd().as_fd(), Operation::Wake(epoch));
        Ok(Self {
            ring,
            wake,
            thread: None,
            lacks_ring: false,
            epoch,
            is_to_rearm: false,
            listeners: Vec::new(),
            accepting: true,
            accepts_left: 0,
            accepted: None,
            sources: Vec::new(),
            free_slots: Vec::new(),
            slots: Vec::new(),
            events: VecDeque::new(),
            ahead: Ahead::default(),
            ready: ReadyQueue::new(),
            received: Received::Nothing,
            withheld: Vec::new(),
            gathering_since: None,
            has_more_buffers: false,
            clock: RoughClock::new(),
        })
    }

    fn slot_of(&self, token: Token) -> Option<u32> {
        let slot = (*self.slots.get(token.index as usize)?)?;
        let source = self.sources[slot as usize].as_ref()?;
        (source.token == token).then_some(slot)
    }

    fn source(&mut self, token: Token) -> Option<(u32, &mut Source)> {
        let slot = self.slot_of(token)?;
        self.source_in(slot).map(|source| (slot, source))
    }

    fn source_in(&mut self, slot: u32) -> Option<&mut Source> {
        self.sources[slot as usize].as_mut()
    }

    /// Receives from a connection by itself, if it wants that and is not being received from.
    fn arm(&mut self, slot: u32) {
        if self.is_to_rearm {
            return;
        }
        let Self { sources, ring, .. } = self;
        let Some(source) = &mut sources[slot as usize] else { return };
        if source.wants_receiving() {
            source.is_armed = true;
            source.is_cancelled = false;
            source.operations += 1;
            ring.receive(source.fd(), slot);
        }
    }

    fn watch_listener(&mut self, position: u32) {
        if let Some(registered) = self.listeners.get(position as usize) {
            let operation = Operation::Accept { position, epoch: self.epoch };
            self.ring.watch(registered.listener.as_fd(), operation);
        }
    }

    fn cancel_listeners(&mut self) {
        for position in 0..self.listeners.len() as u32 {
            self.ring.cancel(Operation::Accept { position, epoch: self.epoch });
        }
    }

    /// Looks at what the kernel told. Bytes for who wants them are told of later, with others; anything else at once.
    #[inline(never)]
    fn look_at(&mut self, event: Event) -> Option<Completion> {
        let more = event.more();
        match event.operation {
            Operation::Receive { slot } => self.receive(slot, event.filled(), more),
            Operation::Send { number } => {
                let (slot, outgoing) = self.ring.take_send(number);
                self.finish_send(slot, outgoing, event.count())
            }
            Operation::Writable { slot } => {
                let completion = self.room(slot);
                self.end_operation(slot);
                completion
            }
            Operation::Accept { position, epoch } => {
                if let Some(registered) = self.listeners.get_mut(position as usize) {
                    registered.has_more = true;
                }
                if !more && epoch == self.epoch {
                    self.watch_listener(position);
                }
                None
            }
            Operation::Wake(epoch) => {
                if !more && epoch == self.epoch {
                    self.ring.watch(self.wake.fd().as_fd(), Operation::Wake(epoch));
                }
                None
            }
            Operation::BatchedSend { .. } | Operation::Cancel => None,
        }
    }

    /// Has the processor fetch the connections that the next events are about, one beside the other.
    #[inline]
    fn prefetch_sources(&self) {
        for event in self.events.iter().take(ahead::MOST) {
            let Operation::Receive { slot } = event.operation else { break };
            prefetch(&self.sources[slot as usize]);
        }
    }

    /// Puts bytes for who wants them to those that are gathered; or says that this is something else.
    #[inline]
    fn gather(&mut self, event: &Event) -> bool {
        let Self { sources, slots, ahead, .. } = self;
        if let Operation::Receive { slot } = event.operation
            && let Some(source) = &mut sources[slot as usize]
            && source.takes_bytes()
            && source.gathered != ahead.gathering()
            && !ahead.are_enough()
            && let Some(filled) = event.filled_further()
        {
            source.gathered = ahead.gathering();
            source.companion.prefetch();
            // By which it is found when it is answered.
            prefetch(&slots[source.token.index as usize]);
            ahead.add(source.token, filled);
            return true;
        }
        false
    }

    /// Tells of the next bytes that were gathered.
    #[inline]
    fn tell(&mut self) -> Option<Completion> {
        let (token, filled) = self.ahead.tell()?;
        let length = filled.len();
        self.received = Received::Buffer(filled);
        Some(Completion::Received(token, length))
    }

    fn receive(
        &mut self,
        slot: u32,
        result: Result<Option<Filled>, Errno>,
        more: bool,
    ) -> Option<Completion> {
        let came = self.sort(slot, result);
        if !more {
            if let Some(source) = self.source_in(slot) {
                source.is_armed = false;
            }
            self.give_back_withheld(|holder| holder == slot);
            self.end_operation(slot);
        }
        let completion = came.and_then(|came| self.deliver_or_hold(slot, came));
        self.arm(slot);
        completion
    }

    /// What a receiving brought, if its connection is still there to have it.
    fn sort(&mut self, slot: u32, result: Result<Option<Filled>, Errno>) -> Option<Came> {
        let source = self.source_in(slot)?;
        let is_over = source.is_detached || source.is_finished;
        match result {
            Ok(Some(filled)) if is_over || filled.len() == 0 => {
                let ends = !is_over;
                source.is_finished = true;
                self.ring.give_back(filled);
                ends.then_some(Came::Ended)
            }
            Ok(Some(filled)) => Some(Came::Bytes(filled)),
            _ if is_over => None,
            Ok(None) => {
                source.is_finished = true;
                Some(Came::Ended)
            }
            Err(Errno::NOBUFS) => {
                // Where a few connections send much, they would fill any number.
                if self.ring.buffers() < self.sources.len()
                    && !std::mem::replace(&mut self.has_more_buffers, true)
                {
                    self.ring.provide_more();
                }
                None
            }
            // Cancelled by us, or as the thread that had armed it has ended, or just interrupted: it is armed anew.
            Err(Errno::CANCELED | Errno::INTR | Errno::AGAIN) => None,
            Err(error) => {
                source.is_finished = true;
                Some(Came::Broken(error))
            }
        }
    }

    fn deliver_or_hold(&mut self, slot: u32, came: Came) -> Option<Completion> {
        let goes_on = !self.is_to_rearm;
        let Self { sources, ring, withheld, ahead, .. } = self;
        let source = sources[slot as usize].as_mut()?;
        if source.receiving && !source.holds_something() {
            let token = source.token;
            return match came {
                Came::Bytes(filled) => {
                    source.gathered = ahead.gathering();
                    ahead.add(token, filled);
                    None
                }
                Came::Ended => Some(Completion::Ended(token)),
                Came::Broken(error) => Some(Completion::Broken(token, error.into())),
            };
        }
        let held = match came {
            Came::Bytes(filled) => {
                let bytes = ring.bytes(&filled).to_vec();
                if source.is_armed && goes_on {
                    withheld.push((slot, filled));
                } else {
                    ring.give_back(filled);
                }
                Held::Bytes(bytes)
            }
            Came::Ended => Held::Ended,
            Came::Broken(error) => Held::Broken(error.into()),
        };
        source.hold(held);
        if source.is_armed && goes_on && !source.is_cancelled {
            source.is_cancelled = true;
            ring.cancel(Operation::Receive { slot });
        }
        None
    }

    fn give_back_withheld(&mut self, is_due: impl Fn(u32) -> bool) {
        for (_, filled) in self.withheld.extract_if(.., |(slot, _)| is_due(*slot)) {
            self.ring.give_back(filled);
        }
    }

    /// Gives what was held of a connection, one piece; more of it has its turn before the kernel is asked again.
    fn deliver_held(&mut self, slot: u32) -> Option<Completion> {
        let source = self.source_in(slot)?;
        source.is_queued = false;
        if !source.receiving || source.is_detached {
            return None;
        }
        let token = source.token;
        let held = source.take_held()?;
        if !source.holds_something() {
            self.arm(slot);
        } else {
            source.is_queued = true;
            self.ready.go_on_with(slot);
        }
        Some(match held {
            Held::Bytes(bytes) => {
                let length = bytes.len();
                self.received = Received::Held(bytes);
                Completion::Received(token, length)
            }
            Held::Ended => Completion::Ended(token),
            Held::Broken(error) => Completion::Broken(token, error),
        })
    }

    fn submit_send(&mut self, slot: u32, outgoing: Outgoing) {
        let Self { sources, ring, .. } = self;
        let Some(source) = &mut sources[slot as usize] else { return };
        source.sending = Sending::Submitted;
        source.operations += 1;
        ring.send(source.fd(), slot, outgoing);
    }

    /// Keeps what is to be sent until the connection takes more.
    fn block(&mut self, slot: u32, outgoing: Outgoing) {
        let Some(source) = self.source_in(slot) else { return };
        source.block(outgoing);
        self.await_room(slot);
    }

    /// Has the kernel tell when the connection takes more.
    fn await_room(&mut self, slot: u32) {
        if self.is_to_rearm {
            return;
        }
        let Self { sources, ring, .. } = self;
        let Some(source) = &mut sources[slot as usize] else { return };
        source.operations += 1;
        ring.await_writable(source.fd(), slot);
    }

    /// The connection takes more.
    fn room(&mut self, slot: u32) -> Option<Completion> {
        let source = self.source_in(slot)?;
        match source.sending {
            Sending::Blocked => {
                let outgoing = source.unblock();
                self.submit_send(slot, outgoing);
                None
            }
            Sending::Awaited => {
                source.sending = Sending::Nothing;
                Some(Completion::Writable(source.token))
            }
            Sending::Nothing | Sending::Submitted => None,
        }
    }

    fn finish_send(
        &mut self,
        slot: u32,
        outgoing: Outgoing,
        result: Result<usize, Errno>,
    ) -> Option<Completion> {
        let source = self.source_in(slot)?;
        let (token, is_detached) = (source.token, source.is_detached);
        source.sending = Sending::Nothing;
        self.end_operation(slot);
        if is_detached {
            return None;
        }
        match result {
            Err(Errno::AGAIN) => {
                self.block(slot, outgoing);
                None
            }
            Err(Errno::INTR | Errno::CANCELED) => {
                self.submit_send(slot, outgoing);
                None
            }
            Ok(count) => {
                let sent = outgoing.sent + count;
                Some(Completion::Sent(token, Box::new(Outgoing { sent, ..outgoing }), Ok(count)))
            }
            Err(error) => Some(Completion::Sent(token, Box::new(outgoing), Err(error.into()))),
        }
    }

    /// An operation of a connection has ended. With the last one, a connection that was let go is closed.
    fn end_operation(&mut self, slot: u32) {
        let Some(source) = self.source_in(slot) else { return };
        source.operations -= 1;
        self.close_if_over(slot);
    }

    fn close_if_over(&mut self, slot: u32) {
        if self.source_in(slot).is_some_and(|source| source.is_detached && source.operations == 0) {
            self.sources[slot as usize] = None;
            self.free_slots.push(slot);
        }
    }

    /// The next connection that waits, in this turn.
    fn accept(&mut self) -> Option<Completion> {
        while self.accepting
            && self.accepts_left > 0
            && let Some(registered) = self.listeners.iter_mut().find(|registered| registered.has_more)
        {
            self.accepts_left -= 1;
            match registered.listener.accept() {
                Ok((socket, peer)) => {
                    self.accepted = Some(socket);
                    return Some(Completion::Accepted { listener: registered.index, peer });
                }
                Err(Errno::AGAIN) => registered.has_more = false,
                Err(Errno::INTR) => {}
                Err(error) => {
                    let error = AcceptError::from(error);
                    if let AcceptError::Exhausted(_) = error {
                        self.accepting = false;
                    }
                    return Some(Completion::AcceptFailed(error));
                }
            }
        }
        None
    }

    fn take_ready(&mut self) -> Option<Completion> {
        while let Some(slot) = self.ready.take() {
            if let Some(completion) = self.deliver_held(slot) {
                return Some(completion);
            }
        }
        self.accept()
    }

    fn has_ready(&self) -> bool {
        let has_more = || self.listeners.iter().any(|registered| registered.has_more);
        !self.ready.is_empty() || (self.accepting && has_more())
    }

    /// Tells the kernel of the sends that were gathered, if it is time.
    fn submit_gathered(&mut self) {
        let now = self.clock.now_roughly();
        let since = *self.gathering_since.get_or_insert(now);
        let is_due = self.ring.queued_sends() >= GATHERED_SENDS
            || now.since(since) >= Duration::from_micros(GATHERING_US);
        if is_due {
            self.submit();
        }
    }

    fn submit(&mut self) {
        self.gathering_since = None;
        if !self.drive_here() {
            return;
        }
        if let Err(error) = self.ring.enter(Some(Duration::ZERO), &mut self.events) {
            tracing::warn!(%error, "io_uring takes nothing for now");
        }
    }
}

/// What a receiving brings.
enum Came {
    Bytes(Filled),
    Ended,
    Broken(Errno),
}

impl Driver for IoUring {
    fn listen(&mut self, index: usize, listener: Arc<Listener>) -> io::Result<()> {
        self.listeners.push(Registered { index, listener, has_more: false });
        self.watch_listener(self.listeners.len() as u32 - 1);
        Ok(())
    }

    fn set_accepting(&mut self, accepting: bool) {
        self.accepting = accepting;
    }

    fn stop_accepting(&mut self) {
        self.accepting = false;
        self.cancel_listeners();
        self.listeners.clear();
        // The kernel holds the listeners until it has been told.
        self.submit();
    }

    fn attach(&mut self, token: Token) -> io::Result<()> {
        let Some(socket) = self.accepted.take() else { return Err(io::ErrorKind::NotConnected.into()) };
        let source = Source::new(token, TcpSocket(socket));
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.sources.push(None);
            (self.sources.len() - 1) as u32
        });
        self.sources[slot as usize] = Some(source);
        let index = token.index as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        self.slots[index] = Some(slot);
        self.arm(slot);
        Ok(())
    }

    fn take_accepted(&mut self) -> Option<OwnedFd> {
        self.accepted.take()
    }

    fn put_accepted(&mut self, socket: OwnedFd) {
        self.accepted = Some(socket);
    }

    fn set_companion(&mut self, token: Token, companion: Companion) {
        if let Some((_, source)) = self.source(token) {
            source.companion = companion;
        }
    }

    fn set_receiving(&mut self, token: Token, receiving: bool) {
        let Some((slot, source)) = self.source(token) else { return };
        source.receiving = receiving;
        if receiving && source.holds_something() && !source.is_queued {
            source.is_queued = true;
            self.ready.put_behind(slot);
        }
        self.arm(slot);
    }

    fn lend_receiving(&mut self, token: Token) -> bool {
        self.stop_receiving(token)
    }

    fn send(&mut self, token: Token, outgoing: &mut Outgoing) -> Submitted {
        let Some((slot, source)) = self.source(token) else {
            return Submitted::Done(Err(io::ErrorKind::NotConnected.into()));
        };
        let socket = Arc::clone(source.socket.handle());
        let is_alone = self.events.is_empty() && self.ahead.is_empty() && self.ring.queued_sends() == 0;
        if is_alone || !self.ring.is_open() {
            // Nothing follows with which it could be gathered, or there is nothing to gather it for: it goes at once.
            return match outgoing.send_some(&*socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.block(slot, std::mem::take(outgoing));
                    Submitted::Pending
                }
                result => Submitted::Done(result),
            };
        }
        self.submit_send(slot, std::mem::take(outgoing));
        self.submit_gathered();
        Submitted::Pending
    }

    fn send_batch(&mut self, sends: &mut [BatchedSend]) {
        let has_ring = self.drive_here();
        let Self { ring, sources, slots, events, .. } = self;
        let socket_of = |token: Token| {
            let slot = (*slots.get(token.index as usize)?)?;
            let source = sources[slot as usize].as_ref()?;
            (source.token == token).then(|| source.fd())
        };
        if sends.len() == 1 || !has_ring {
            for send in sends {
                let sent = socket_of(send.token).map(|socket| net::send(socket, &send.bytes, SEND_FLAGS));
                send.sent = sent.and_then(Result::ok).unwrap_or(0);
            }
        } else if let Err(error) = ring.send_batch(sends, socket_of, events) {
            tracing::error!(%error, "io_uring took no answers: their connections are closed");
            for socket in sends.iter().filter_map(|send| self.socket(send.token)) {
                socket.shutdown();
            }
        }
    }

    fn await_writable(&mut self, token: Token) {
        if let Some((slot, source)) = self.source(token) {
            source.sending = Sending::Awaited;
            self.await_room(slot);
        }
    }

    fn shutdown_send(&mut self, token: Token) {
        if let Some((_, source)) = self.source(token) {
            let socket = Arc::clone(source.socket.handle());
            if source.sending == Sending::Submitted {
                self.submit();
            }
            let _ = net::shutdown(&socket.0, Shutdown::Write);
        }
    }

    fn detach(&mut self, token: Token) {
        if let Some(filled) = self.ahead.forget(token) {
            self.ring.give_back(filled);
        }
        let Some((slot, source)) = self.source(token) else { return };
        source.is_detached = true;
        source.forget_waiting();
        let is_over = source.operations == 0;
        // What goes on ends by it, and the peer learns of the end though the socket is still held.
        if !is_over || Arc::strong_count(source.socket.handle()) > 1 {
            source.socket.handle().shutdown();
        }
        self.slots[token.index as usize] = None;
        if is_over {
            self.sources[slot as usize] = None;
            self.free_slots.push(slot);
        }
    }

    fn socket(&self, token: Token) -> Option<Arc<dyn Socket>> {
        let source = self.sources[self.slot_of(token)? as usize].as_ref()?;
        Some(Arc::clone(source.socket.handle()) as Arc<dyn Socket>)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let has_ring = self.drive_here();
        if self.ready.has_turn() || !self.events.is_empty() || !self.ahead.is_empty() {
            return Ok(());
        }
        if !has_ring {
            thread::sleep(timeout.unwrap_or(RING_RETRY).min(RING_RETRY));
            return Ok(());
        }
        if self.is_to_rearm {
            self.rearm_all();
        }
        let is_busy = self.has_ready();
        self.ready.begin_turn();
        self.accepts_left = ACCEPTS_A_TURN;
        self.has_more_buffers = false;
        self.gathering_since = None;
        self.ring.enter(if is_busy { Some(Duration::ZERO) } else { timeout }, &mut self.events)
    }

    fn next(&mut self) -> Option<Completion> {
        self.accepted = None;
        if let Received::Buffer(filled) = std::mem::replace(&mut self.received, Received::Nothing) {
            self.ring.give_back(filled);
        }
        if let Some(completion) = self.tell() {
            return Some(completion);
        }
        self.ahead.begin();
        self.prefetch_sources();
        while let Some(event) = self.events.pop_front() {
            if self.gather(&event) {
                continue;
            }
            if event.operation.tells() && !self.ahead.is_empty() {
                // What it tells must not be told before the bytes.
                self.events.push_front(event);
                break;
            }
            if let Some(completion) = self.look_at(event) {
                return Some(completion);
            }
        }
        self.tell().or_else(|| self.take_ready())
    }

    fn received_ahead(&self) -> &[Token] {
        self.ahead.untold()
    }

    fn received(&self) -> &[u8] {
        match &self.received {
            Received::Nothing => &[],
            Received::Buffer(filled) => self.ring.bytes(filled),
            Received::Held(bytes) => bytes,
        }
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

#[cfg(test)]
mod tests;
