//! The driver of a simulated loop.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tayet_net::{
    AcceptError, BatchedSend, Completion, Driver, Listener, Moment, Outgoing, PeerAddress, Socket, Submitted,
    Token, Wake, Waker,
};

use crate::socket::SimulatedSocket;
use crate::wire::Incoming;
use crate::world::World;
use crate::{Faults, SimulatedNet};

/// Bytes that one [`Completion::Received`] has at most, as many as the real driver's.
pub const RECEIVE_BYTES: usize = 64 * 1024;

/// Waits that may end at one and the same time without anything having happened: more than a few mean that the loop spins.
const MAX_IDLE_WAITS: u32 = 4;

/// Completions that may be taken at one and the same time: more mean that the loop makes its own work.
const MAX_COMPLETIONS_AT_A_TIME: u32 = 1_000_000;

/// What [`Driver::received`] gives when there is nothing: whoever reads it reads nonsense.
const NOTHING_RECEIVED: [u8; 64] = [0; 64];

/// The [`Driver`] over a [`SimulatedNet`].
///
/// # Panics
///
/// Where its user breaks the contract: a token is attached twice, or used without being attached; a second send is
/// submitted while one is under way, or an empty one, or one behind [`Driver::shutdown_send`]; connections are accepted
/// and dropped without a look. It panics too when the loop spins, and when it waits for ever though nothing will happen.
pub struct SimulatedDriver {
    net: SimulatedNet,
    attached: BTreeMap<u32, Attached>,
    batch: VecDeque<Ready>,
    /// From whom something was received that was not told of yet, each once, and what that is.
    untold: Vec<Token>,
    untold_bytes: VecDeque<Vec<u8>>,
    /// The client of the last [`Completion::Accepted`].
    offered: Option<usize>,
    /// What the last completion has brought.
    received: Option<Vec<u8>>,
    idle_waits: u32,
    completions: (Duration, u32),
}

#[derive(Clone, Copy)]
struct Attached {
    token: Token,
    client: usize,
}

#[derive(Clone, Copy)]
enum Ready {
    Accept,
    Receive(Token),
    Send(Token),
    Writable(Token),
}

impl SimulatedDriver {
    pub(crate) fn new(net: SimulatedNet) -> Self {
        Self {
            net,
            attached: BTreeMap::new(),
            batch: VecDeque::new(),
            untold: Vec::new(),
            untold_bytes: VecDeque::new(),
            offered: None,
            received: None,
            idle_waits: 0,
            completions: (Duration::ZERO, 0),
        }
    }

    fn client(&self, token: Token) -> Option<usize> {
        let attached = self.attached.get(&token.index)?;
        (attached.token == token).then_some(attached.client)
    }

    #[track_caller]
    fn attached_client(&self, token: Token) -> usize {
        self.client(token).unwrap_or_else(|| panic!("{token:?} is not attached"))
    }

    /// Gathers what is ready, in any order.
    fn fill_batch(&mut self) {
        let mut world = self.net.lock();
        if world.accepting && !world.waiting.is_empty() {
            self.batch.push_back(Ready::Accept);
        }
        for &Attached { token, client } in self.attached.values() {
            let wire = &world.wires[client];
            if wire.has_incoming() {
                self.batch.push_back(Ready::Receive(token));
            }
            if wire.pending.is_some() && wire.is_writable() {
                self.batch.push_back(Ready::Send(token));
            }
            if wire.is_awaited && wire.is_writable() {
                self.batch.push_back(Ready::Writable(token));
            }
        }
        world.random.shuffle(self.batch.make_contiguous());
    }

    fn complete_next(&mut self) -> Option<Completion> {
        while let Some(ready) = self.batch.pop_front() {
            if let Some(completion) = self.complete(ready) {
                return Some(completion);
            }
        }
        None
    }

    fn complete(&mut self, ready: Ready) -> Option<Completion> {
        match ready {
            Ready::Accept => self.accept(),
            Ready::Receive(token) => self.receive(token),
            Ready::Send(token) => self.finish_send(token),
            Ready::Writable(token) => self.tell_writable(token),
        }
    }

    fn accept(&mut self) -> Option<Completion> {
        let net = self.net.clone();
        let mut world = net.lock();
        if !world.accepting {
            return None;
        }
        let now = world.now;
        let is_exhausted = world.exhausted.is_some_and(|(from, until)| (from..until).contains(&now));
        if !world.waiting.is_empty() && (is_exhausted || chance(&mut world, |faults| faults.exhausted)) {
            world.accepting = false;
            return Some(Completion::AcceptFailed(AcceptError::Exhausted(io::Error::other(
                "no descriptors",
            ))));
        }
        let client = world.waiting.pop_front()?;
        if !world.waiting.is_empty() {
            self.batch.push_back(Ready::Accept);
        }
        if chance(&mut world, |faults| faults.accept) {
            world.drop_connection(client);
            let error = io::ErrorKind::ConnectionAborted.into();
            return Some(Completion::AcceptFailed(AcceptError::Connection(error)));
        }
        self.offered = Some(client);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1_024 + client as u16));
        Some(Completion::Accepted { listener: 0, peer: PeerAddress::Ip(address) })
    }

    fn receive(&mut self, token: Token) -> Option<Completion> {
        let told_at_once = self.receive_some(token);
        while !self.untold.is_empty()
            && let Some(&Ready::Receive(next)) = self.batch.front()
            && self.may_receive_ahead(next)
        {
            self.batch.pop_front();
            self.receive_some(next);
        }
        told_at_once.or_else(|| self.tell())
    }

    /// Whether bytes of this connection are to be received before others are told of.
    fn may_receive_ahead(&self, token: Token) -> bool {
        let Some(client) = self.client(token) else { return false };
        let mut world = self.net.lock();
        let has_bytes = world.wires[client].has_incoming() && world.wires[client].incoming_bytes() > 0;
        has_bytes && !self.untold.contains(&token) && chance(&mut world, |faults| faults.receive_ahead)
    }

    /// Tells of the next bytes whose connection is still there.
    fn tell(&mut self) -> Option<Completion> {
        while let Some(bytes) = self.untold_bytes.pop_front() {
            let token = self.untold.remove(0);
            if self.client(token).is_some() {
                let length = bytes.len();
                self.received = Some(bytes);
                return Some(Completion::Received(token, length));
            }
        }
        None
    }

    /// Receives: bytes are told of behind those that have come before, an end at once.
    fn receive_some(&mut self, token: Token) -> Option<Completion> {
        let client = self.client(token)?;
        let net = self.net.clone();
        let mut world = net.lock();
        if !world.wires[client].has_incoming() {
            return None;
        }
        let mut max_bytes = world.wires[client].incoming_bytes().clamp(1, RECEIVE_BYTES);
        if chance(&mut world, |faults| faults.short_read) {
            max_bytes = world.random.size(1..=max_bytes);
        }
        let is_served_again = world.random.chance(200);
        let wire = &mut world.wires[client];
        match wire.receive(max_bytes) {
            Incoming::Bytes(bytes) => {
                if is_served_again {
                    self.batch.push_back(Ready::Receive(token));
                }
                self.untold.push(token);
                self.untold_bytes.push_back(bytes);
                None
            }
            Incoming::Ended => {
                wire.is_finished = true;
                Some(Completion::Ended(token))
            }
            Incoming::Reset => {
                wire.is_finished = true;
                Some(Completion::Broken(token, io::ErrorKind::ConnectionReset.into()))
            }
            Incoming::Nothing => None,
        }
    }

    fn finish_send(&mut self, token: Token) -> Option<Completion> {
        let client = self.client(token)?;
        let mut world = self.net.lock();
        let outgoing = world.wires[client].pending.take()?;
        let (head, tail) = outgoing.rest();
        match world.server_send_now(client, head, tail) {
            Ok(count) => Some(Completion::Sent(
                token,
                Box::new(Outgoing { sent: outgoing.sent + count, ..outgoing }),
                Ok(count),
            )),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                world.wires[client].pending = Some(outgoing);
                None
            }
            Err(error) => Some(Completion::Sent(token, Box::new(outgoing), Err(error))),
        }
    }

    fn tell_writable(&mut self, token: Token) -> Option<Completion> {
        let client = self.client(token)?;
        let is_awaited = std::mem::take(&mut self.net.lock().wires[client].is_awaited);
        is_awaited.then_some(Completion::Writable(token))
    }

    /// Whether there is a reason for a wait to end now.
    fn is_ready(&mut self) -> bool {
        self.fill_batch();
        let mut world = self.net.lock();
        let has_more = !self.untold.is_empty() || !self.batch.is_empty();
        let has_happened = std::mem::take(&mut world.is_woken) || has_more;
        if has_happened {
            self.idle_waits = 0;
        }
        has_happened || chance(&mut world, |faults| faults.empty_wake)
    }

    /// Ends a wait because its time is up.
    fn time_out(&mut self, began: Duration, deadline: Duration) {
        let mut world = self.net.lock();
        world.now = world.now.max(deadline);
        world.timeouts += 1;
        self.idle_waits = if world.now > began { 0 } else { self.idle_waits + 1 };
        assert!(
            self.idle_waits < MAX_IDLE_WAITS,
            "the loop spins: it waits for no time, and nothing happens"
        );
    }

    fn note_completion(&mut self) {
        let now = self.net.elapsed();
        let (at, count) = &mut self.completions;
        *count = if *at == now { *count + 1 } else { 0 };
        *at = now;
        assert!(*count < MAX_COMPLETIONS_AT_A_TIME, "the loop does not come to an end with its work");
    }
}

impl Driver for SimulatedDriver {
    /// There is one listener, and clients find it by themselves.
    fn listen(&mut self, _: usize, _: Arc<Listener>) -> io::Result<()> {
        Ok(())
    }

    fn set_accepting(&mut self, accepting: bool) {
        let mut world = self.net.lock();
        world.accepting = accepting && world.is_listening;
    }

    fn stop_accepting(&mut self) {
        let mut world = self.net.lock();
        world.accepting = false;
        world.is_listening = false;
        while let Some(client) = world.waiting.pop_front() {
            world.drop_connection(client);
        }
    }

    fn attach(&mut self, token: Token) -> io::Result<()> {
        let client = self.offered.take().expect("a connection is attached right behind its completion");
        assert!(!self.attached.contains_key(&token.index), "{token:?} is attached twice");
        let mut world = self.net.lock();
        if chance(&mut world, |faults| faults.attach) {
            world.drop_connection(client);
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.attached.insert(token.index, Attached { token, client });
        Ok(())
    }

    /// A simulation has one loop.
    fn take_accepted(&mut self) -> Option<OwnedFd> {
        None
    }

    fn put_accepted(&mut self, _: OwnedFd) {
        unreachable!("nothing is given away");
    }

    fn set_receiving(&mut self, token: Token, receiving: bool) {
        let client = self.attached_client(token);
        let mut world = self.net.lock();
        let wire = &mut world.wires[client];
        wire.is_receiving = receiving;
        wire.is_lent &= !receiving;
    }

    fn lend_receiving(&mut self, token: Token) -> bool {
        let client = self.attached_client(token);
        if self.untold.contains(&token) {
            return false;
        }
        let mut world = self.net.lock();
        let lends = !world.wires[client].is_finished && world.random.chance(500);
        if lends {
            let wire = &mut world.wires[client];
            (wire.is_receiving, wire.is_lent) = (false, true);
        }
        lends
    }

    fn send(&mut self, token: Token, outgoing: &mut Outgoing) -> Submitted {
        let client = self.attached_client(token);
        let mut world = self.net.lock();
        assert!(!world.wires[client].is_sending(), "{token:?} has a send under way");
        let (head, tail) = outgoing.rest();
        match world.server_send(client, head, tail) {
            Ok(count) => {
                outgoing.sent += count;
                Submitted::Done(Ok(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                world.wires[client].pending = Some(std::mem::take(outgoing));
                Submitted::Pending
            }
            Err(error) => Submitted::Done(Err(error)),
        }
    }

    fn send_batch(&mut self, sends: &mut [BatchedSend]) {
        for BatchedSend { token, bytes, sent } in sends {
            let Some(client) = self.client(*token) else { continue };
            let mut world = self.net.lock();
            assert!(!world.wires[client].is_sending(), "{token:?} has a send under way");
            *sent = world.server_send(client, bytes, &[]).unwrap_or(0);
        }
    }

    fn await_writable(&mut self, token: Token) {
        let client = self.attached_client(token);
        let mut world = self.net.lock();
        let wire = &mut world.wires[client];
        assert!(!wire.is_sending(), "{token:?} has a send under way");
        wire.is_awaited = true;
    }

    fn shutdown_send(&mut self, token: Token) {
        let client = self.attached_client(token);
        self.net.lock().server_shutdown_send(client);
    }

    fn detach(&mut self, token: Token) {
        let client = self.attached_client(token);
        self.attached.remove(&token.index);
        let mut world = self.net.lock();
        world.server_close(client);
    }

    fn socket(&self, token: Token) -> Option<Arc<dyn Socket>> {
        let client = self.client(token)?;
        Some(Arc::new(SimulatedSocket::new(self.net.clone(), client)))
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.net.call_before_wait();
        let began = self.net.elapsed();
        let deadline = timeout.map(|timeout| began + timeout);
        while !self.is_ready() {
            if self.net.take_event(deadline.unwrap_or(Duration::MAX)) {
                continue;
            }
            let deadline = deadline.expect("the loop waits for ever, and nothing will happen");
            self.time_out(began, deadline);
            break;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Completion> {
        self.received = None;
        if let Some(client) = self.offered.take() {
            self.net.lock().drop_connection(client);
        }
        let completion = self.tell().or_else(|| self.complete_next());
        if completion.is_some() {
            self.note_completion();
        }
        completion
    }

    fn received(&self) -> &[u8] {
        self.received.as_deref().unwrap_or(&NOTHING_RECEIVED)
    }

    fn received_ahead(&self) -> &[Token] {
        &self.untold
    }

    fn waker(&self) -> Waker {
        Arc::new(SimulatedWaker(self.net.clone()))
    }

    fn now(&mut self) -> Moment {
        self.net.now()
    }
}

impl fmt::Debug for SimulatedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDriver").field("attached", &self.attached.len()).finish_non_exhaustive()
    }
}

struct SimulatedWaker(SimulatedNet);

impl Wake for SimulatedWaker {
    fn wake(&self) {
        self.0.lock().is_woken = true;
    }
}

/// Whether something goes wrong now.
fn chance(world: &mut World, of: fn(&Faults) -> u32) -> bool {
    let per_mille = of(&world.faults);
    world.random.chance(per_mille)
}
