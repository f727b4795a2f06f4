//! One connection, as its loop sees it.

use std::num::NonZeroU64;
use std::sync::Arc;

use tayet_http1 as http1;
use tayet_net::{Companion, Moment, PeerAddress, TICK_MS, TimerWheel, Token, prefetch};

use crate::answer::Asked;
use crate::download::Download;
use crate::frugal;
use crate::peer::Peer;
use crate::peer_handle::PeerHandle;
use crate::rate::RateWindow;
use crate::route_classes::PathGroup;
use crate::session::Session;
use crate::streaming::Streaming;
use crate::worker::Call;
use crate::{Request, Response, RouteId};

/// A connection and where it stands.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) phase: Phase,
    pub(crate) protocol: http1::Connection,
    /// Received and not looked at: the connection is busy, or has something to send.
    pub(crate) backlog: Vec<u8>,
    pub(crate) peer: PeerHandle,
    /// The number of the request that is or was answered last; it wraps.
    pub(crate) exchange: u32,
    /// When the head is due that has begun to come; 0 while none has.
    pub(crate) head_due_ms: u64,
    pub(crate) timing: Timing,
    /// What becomes of it when all is sent that is being sent; `Some` while something is.
    pub(crate) sending: Option<AfterSend>,
    /// The peer has ended its sending direction.
    pub(crate) has_ended: bool,
    /// The driver was told not to receive.
    pub(crate) is_paused: bool,
    /// With which others its last answer was held (`held.rs`); 0 before any was.
    pub(crate) held_batch: u32,
}

/// When a connection is to be looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timing {
    /// When to look at it, if nothing happens before.
    pub(crate) deadline_ms: u64,
    /// The tick of the timer's entry that is the connection's; earlier entries that were replaced are ignored.
    pub(crate) timer_tick: Option<NonZeroU64>,
}

impl Timing {
    /// Says when to look at the connection of this token. The timer's entry is moved only forwards; one that comes up too early
    /// is put back then.
    #[inline]
    pub(crate) fn set(&mut self, token: Token, deadline_ms: u64, timers: &mut TimerWheel) {
        self.deadline_ms = deadline_ms;
        let due_tick = deadline_ms.div_ceil(TICK_MS);
        if self.timer_tick.is_none_or(|tick| due_tick < tick.get()) {
            self.timer_tick = NonZeroU64::new(timers.schedule(token, deadline_ms));
        }
    }
}

/// What a connection is doing.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Waiting for the PROXY header.
    Proxy { local: PeerAddress },
    /// Between requests, or within a head.
    Head,
    /// Gathering the body of a request whose handler wants it whole.
    Body(Box<Gathering>),
    /// A handler has the request.
    Busy(Busy),
    /// The last answer is given: what still comes is thrown away.
    Linger { budget_bytes: usize },
}

impl Phase {
    /// Begins a request: from [`Phase::Head`], so there is nothing to be dropped, and this one is made in its place.
    #[inline(always)]
    pub(crate) fn begin(&mut self, busy: Busy) {
        let head = std::mem::replace(self, Self::Busy(busy));
        debug_assert!(matches!(head, Self::Head), "{head:?} ends before a request begins");
        std::mem::forget(head);
    }

    /// Ends it: the connection is between requests. Most leave nothing to be dropped, which is seen at once, and is then forgotten
    /// rather than asked for it a second time.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        if matches!(self, Self::Busy(Busy { stream: None, .. })) {
            std::mem::forget(std::mem::replace(self, Self::Head));
        } else {
            *self = Self::Head;
        }
    }
}

/// A request whose body is being gathered.
#[derive(Debug)]
pub(crate) struct Gathering {
    pub(crate) request: Box<Request>,
    pub(crate) body: Vec<u8>,
    pub(crate) limit_bytes: usize,
    /// Whether the handler takes it as a stream past the limit, rather than refusing it.
    pub(crate) may_stream: bool,
    pub(crate) rate: RateWindow,
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) asked: Asked,
    pub(crate) route: RouteId,
    pub(crate) group: PathGroup,
    pub(crate) started: Moment,
    pub(crate) timeout_at_ms: Option<u64>,
    pub(crate) stream: Option<Box<Streaming>>,
}

/// What follows when a connection has sent what it is sending.
#[derive(Debug)]
pub(crate) enum AfterSend {
    /// The next request, or the rest of this one.
    GoOn,
    /// This request goes to a worker.
    Dispatch(Box<Call>),
    /// The rest of this answer goes to a worker, now that the client takes more.
    Resume(Box<Download>),
    /// This answer is next.
    Answer(Box<Answer>),
    /// The connection closes.
    Close,
}

/// An answer that waits to be sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// What was asked, if the answer begins a session, or interim responses wait for it.
    pub(crate) request: Option<Box<Request>>,
}

impl Connection {
    pub(crate) fn new(phase: Phase, peer: Arc<Peer>) -> Self {
        Self {
            phase,
            protocol: http1::Connection::new(),
            backlog: Vec::new(),
            peer: PeerHandle::new(peer),
            exchange: 0,
            head_due_ms: 0,
            timing: Timing::default(),
            sending: None,
            has_ended: false,
            is_paused: false,
            held_batch: 0,
        }
    }

    /// The number of the request that its handler is to get.
    pub(crate) fn next_exchange(&self) -> u32 {
        self.exchange.wrapping_add(1)
    }

    /// Whether nothing has come that was not looked at, or is known to come no more.
    pub(crate) fn has_nothing_to_read(&self) -> bool {
        self.backlog.is_empty() && !self.has_ended && !self.is_paused
    }

    /// Whether it waits for a request of which nothing has come.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head)
            && self.sending.is_none()
            && self.backlog.is_empty()
            && !self.protocol.has_partial_head()
    }

    /// The body that its handler reads, while it does.
    pub(crate) fn stream(&mut self) -> Option<&mut Streaming> {
        match &mut self.phase {
            Phase::Busy(busy) => busy.stream.as_deref_mut(),
            _ => None,
        }
    }

    /// The exchange under way, if it is that one.
    pub(crate) fn busy(&mut self, exchange: u32) -> Option<&mut Busy> {
        match &mut self.phase {
            Phase::Busy(busy) if self.exchange == exchange => Some(busy),
            _ => None,
        }
    }
}

/// The connections of a loop, by token.
#[derive(Debug, Default)]
pub(crate) struct Table {
    places: Vec<Place>,
    free: Vec<u32>,
    len: usize,
}

#[derive(Debug)]
struct Place {
    generation: u32,
    occupant: Occupant,
}

/// Who has a place.
#[derive(Debug)]
enum Occupant {
    Nobody,
    Http(Box<Connection>),
    Session(Box<Session>),
}

/// Generations wrap here: the driver keeps the highest bit of a token's word for itself.
const MAX_GENERATION: u32 = u32::MAX >> 1;

impl Table {
    /// The token that the next connection will have.
    pub(crate) fn next_token(&mut self) -> Token {
        if self.free.is_empty() {
            self.free.push(self.places.len() as u32);
            frugal::push(&mut self.places, Place { generation: 0, occupant: Occupant::Nobody });
        }
        let index = *self.free.last().expect("just filled");
        Token { index, generation: self.places[index as usize].generation }
    }

    /// Puts a connection in at [`Table::next_token`].
    pub(crate) fn insert(&mut self, connection: Connection) {
        let token = self.next_token();
        self.free.pop();
        self.places[token.index as usize].occupant = Occupant::Http(Box::new(connection));
        self.len += 1;
    }

    /// Has where these connections lie fetched into the processor's caches. Themselves the driver has fetched.
    #[inline]
    pub(crate) fn prefetch_places(&self, tokens: &[Token]) {
        tokens.iter().filter_map(|token| self.places.get(token.index as usize)).for_each(prefetch);
    }

    /// The connection, whatever it is, for the driver to have fetched.
    pub(crate) fn companion(&mut self, token: Token) -> Companion {
        match self.occupant(token) {
            Some(Occupant::Http(connection)) => Companion::of(&**connection),
            Some(Occupant::Session(session)) => Companion::of(&**session),
            Some(Occupant::Nobody) | None => Companion::default(),
        }
    }

    /// The connection, if it speaks HTTP.
    pub(crate) fn get(&mut self, token: Token) -> Option<&mut Connection> {
        match self.occupant(token)? {
            Occupant::Http(connection) => Some(connection),
            Occupant::Session(_) | Occupant::Nobody => None,
        }
    }

    /// The connection, if it is a session.
    pub(crate) fn session(&mut self, token: Token) -> Option<&mut Session> {
        match self.occupant(token)? {
            Occupant::Session(session) => Some(session),
            Occupant::Http(_) | Occupant::Nobody => None,
        }
    }

    /// When the connection is to be looked at, whatever it is.
    pub(crate) fn timing(&mut self, token: Token) -> Option<&mut Timing> {
        match self.occupant(token)? {
            Occupant::Http(connection) => Some(&mut connection.timing),
            Occupant::Session(session) => Some(&mut session.timing),
            Occupant::Nobody => None,
        }
    }

    /// With which others the connection's last answer was held, whatever it is.
    pub(crate) fn held_batch(&mut self, token: Token) -> Option<u32> {
        match self.occupant(token)? {
            Occupant::Http(connection) => Some(connection.held_batch),
            Occupant::Session(session) => Some(session.held_batch),
            Occupant::Nobody => None,
        }
    }

    /// Puts a session in the place of the HTTP connection that it was.
    pub(crate) fn begin_session(&mut self, token: Token, session: Session) {
        if let Some(occupant) = self.occupant(token) {
            *occupant = Occupant::Session(Box::new(session));
        }
    }

    pub(crate) fn remove(&mut self, token: Token) -> Option<Box<Connection>> {
        self.get(token)?;
        match self.vacate(token) {
            Occupant::Http(connection) => Some(connection),
            Occupant::Session(_) | Occupant::Nobody => None,
        }
    }

    pub(crate) fn remove_session(&mut self, token: Token) {
        if self.session(token).is_some() {
            self.vacate(token);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The tokens of all connections.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        let places = self.places.iter().enumerate();
        let taken = places.filter(|(_, place)| !matches!(place.occupant, Occupant::Nobody));
        taken.map(|(index, place)| Token { index: index as u32, generation: place.generation }).collect()
    }

    fn occupant(&mut self, token: Token) -> Option<&mut Occupant> {
        let place = self.places.get_mut(token.index as usize)?;
        (place.generation == token.generation).then_some(&mut place.occupant)
    }

    fn vacate(&mut self, token: Token) -> Occupant {
        let place = &mut self.places[token.index as usize];
        place.generation = if place.generation == MAX_GENERATION { 0 } else { place.generation + 1 };
        self.free.push(token.index);
        self.len -= 1;
        std::mem::replace(&mut place.occupant, Occupant::Nobody)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection::new(Phase::Head, Arc::new(Peer::unconnected()))
    }

    #[test]
    fn a_place_is_used_again_with_another_generation() {
        let mut table = Table::default();
        let first = table.next_token();
        table.insert(connection());
        assert!(table.get(first).is_some());
        assert!(table.remove(first).is_some());
        let second = table.next_token();
        table.insert(connection());
        assert_eq!(first.index, second.index);
        assert!(table.get(first).is_none() && table.get(second).is_some());
        assert!(table.remove(first).is_none());
        assert_eq!((table.len(), table.tokens()), (1, vec![second]));
    }

    #[test]
    fn what_is_fetched_ahead_is_the_connection_itself() {
        let mut table = Table::default();
        let token = table.next_token();
        assert_eq!(table.companion(token), Companion::default());
        table.insert(connection());
        let companion = table.companion(token);
        assert_eq!(companion, Companion::of(table.get(token).unwrap()));
        table.remove(token);
        assert_eq!(table.companion(token), Companion::default());
    }

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() <= 256, "{} bytes", size_of::<Connection>());
    }
}
