//! The life of a WebSocket, or a stream of events, within its loop: from bytes to calls of its handler, to its end.
//!
//! A session has one call at a time, on the loop or on a worker, as its route's class says. What comes meanwhile waits as
//! events, up to a bound; pings are answered and the peer's goodbye is seen at once, however long the handler takes.

use std::collections::VecDeque;
use std::sync::Arc;

use http::StatusCode;
use smallvec::SmallVec;
use tayet_net::{Outgoing, Token};
use tayet_websocket::{CloseCode, CloseFrame, Event as Frame, Failure, Receiver, Role, Sender};

use crate::answer::{Asked, encode};
use crate::body::Kind;
use crate::channel::Channel;
use crate::channel::outbox::{Framing, Outbox, Uncorked};
use crate::connection::{Answer, Timing};
use crate::event_loop::{Current, Due, Loop, Submission};
use crate::exchange::Progress;
use crate::handling::{Handling, SocketEvent};
use crate::opening::Opening;
use crate::worker::Job;
use crate::{Closed, Request, Response, RouteId, WebSocketError, problem};

/// What an event that waits is counted as, beside its payload.
const EVENT_BYTES: usize = 64;

/// A session, as its loop sees it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) channel: Arc<Channel>,
    /// `None` for a stream of events: what its client says is thrown away.
    receiver: Option<Receiver>,
    pub(crate) route: RouteId,
    stage: Stage,
    /// A call of the handler is under way, or on its way to a worker.
    is_busy: bool,
    is_paused: bool,
    has_ended: bool,
    /// [`SocketEvent::Close`] is under way or has been handled.
    has_told_close: bool,
    /// A ping is out, and nothing has come since.
    is_pinged: bool,
    /// `None` while nothing waits, as in most sessions most of the time.
    waiting: Option<Box<Waiting>>,
    /// The topics that it is in, by number, and its place among their members in this loop.
    pub(crate) memberships: SmallVec<[Membership; 1]>,
    received_ms: u64,
    /// What is being sent has had to wait.
    has_waited: bool,
    pub(crate) timing: Timing,
}

/// What of a session has to wait.
#[derive(Debug, Default)]
struct Waiting {
    /// For the handler.
    events: VecDeque<SocketEvent>,
    event_bytes: usize,
    /// Received and not looked at.
    backlog: Vec<u8>,
    /// How the peer has ended what it says; told when all before it has been handled.
    ending: Option<Ending>,
    /// Since when the kernel has taken nothing of what the loop sends.
    stalled_since_ms: Option<u64>,
}

/// A session's place in a topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    pub(crate) topic: u64,
    pub(crate) position: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// This end has said goodbye and waits for the other's.
    Closing,
    /// Everything is said; what still comes is thrown away, so that closing does not reset what was sent last.
    Lingering {
        budget_bytes: u32,
        is_shut: bool,
    },
    /// The socket is closed; the handler is still to learn of it.
    Gone,
}

/// The end of what a peer says.
#[derive(Clone, Debug)]
enum Ending {
    Goodbye(Option<CloseFrame>),
    Failure(Failure),
    /// The connection's end, without a word.
    Silence,
}

impl Session {
    fn new(channel: Arc<Channel>, receiver: Option<Receiver>, route: RouteId, now_ms: u64) -> Self {
        Self {
            channel,
            receiver,
            route,
            stage: Stage::Open,
            is_busy: false,
            is_paused: false,
            has_ended: false,
            has_told_close: false,
            is_pinged: false,
            waiting: None,
            memberships: SmallVec::new(),
            received_ms: now_ms,
            has_waited: false,
            timing: Timing::default(),
        }
    }

    fn waiting(&mut self) -> &mut Waiting {
        self.waiting.get_or_insert_default()
    }

    /// Gives the room for what waits back when nothing does.
    fn release_waiting(&mut self) {
        let has_work = self.has_more_to_do();
        self.waiting.take_if(|waiting| !has_work && waiting.stalled_since_ms.is_none());
    }

    fn push(&mut self, event: SocketEvent) {
        let waiting = self.waiting();
        waiting.event_bytes += event.len() + EVENT_BYTES;
        waiting.events.push_back(event);
    }

    fn pop(&mut self) -> Option<SocketEvent> {
        let waiting = self.waiting.as_mut()?;
        let event = waiting.events.pop_front()?;
        waiting.event_bytes -= event.len() + EVENT_BYTES;
        Some(event)
    }

    /// All that waits for the handler, behind `first`.
    fn batch(&mut self, first: SocketEvent) -> VecDeque<SocketEvent> {
        let mut batch = VecDeque::new();
        if let Some(waiting) = &mut self.waiting {
            batch = std::mem::take(&mut waiting.events);
            waiting.event_bytes = 0;
        }
        batch.push_front(first);
        batch
    }

    fn has_backlog(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.backlog.is_empty())
    }

    fn take_backlog(&mut self) -> Vec<u8> {
        self.waiting.as_mut().map(|waiting| std::mem::take(&mut waiting.backlog)).unwrap_or_default()
    }

    fn has_ending(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.ending.is_some())
    }

    fn stalled_since_ms(&self) -> Option<u64> {
        self.waiting.as_ref().and_then(|waiting| waiting.stalled_since_ms)
    }

    /// Whether there is something to do as soon as the handler is done.
    fn has_more_to_do(&self) -> bool {
        self.has_events() || self.has_backlog() || self.has_ending()
    }

    fn has_events(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.events.is_empty())
    }

    /// Whether its handler can be called: it is not, and has not asked for a pause. Of the end it hears in any case.
    fn may_call(&self) -> bool {
        !self.is_busy && (self.stage == Stage::Gone || !self.channel.is_paused())
    }

    fn is_lingering(&self) -> bool {
        matches!(self.stage, Stage::Lingering { .. })
    }

    /// Whether what comes may be looked at: not while too much waits for the handler, or for a peer that takes nothing of
    /// what it is sent.
    fn may_decode(&self, max_waiting_bytes: usize) -> bool {
        let Some(waiting) = &self.waiting else { return true };
        if !self.may_call() && waiting.event_bytes >= max_waiting_bytes {
            return false;
        }
        let high_water_bytes = self.channel.settings.max_send_queue_bytes / 2;
        waiting.stalled_since_ms.is_none() || self.channel.outbox().pending_bytes() <= high_water_bytes
    }

    /// Has the handler told of the end, once.
    fn tell_close(&mut self, error: Option<WebSocketError>, closed: Closed) {
        if !std::mem::replace(&mut self.has_told_close, true) {
            if let Some(error) = error {
                self.push(SocketEvent::Error(error));
            }
            self.push(SocketEvent::Close(closed));
        }
    }
}

impl Loop {
    /// A handler's answer begins a session: sends its head, and goes on in the session's terms.
    pub(crate) fn open_session(&mut self, token: Token, exchange: u32, answer: Answer) {
        let Answer { mut response, request } = answer;
        let Some(connection) = self.connections.get(token) else { return };
        let Some(busy) = connection.busy(exchange) else { return };
        let (asked, route) = (busy.asked, busy.route);
        let Some(request) = request.filter(|_| !asked.is_head) else {
            self.answer_without_session(token, exchange, response);
            return;
        };
        self.shard.answered(route.0, response.status(), self.now.ns_since(busy.started));
        let asked = Asked { keep_alive: response.status() == StatusCode::SWITCHING_PROTOCOLS, ..asked };
        let encoded = encode(&mut response, asked, self.date.at(self.now), &mut self.out);
        let Kind::Session(opening) = std::mem::take(&mut response.body_mut().0) else { return };
        let framing = match &*opening {
            Opening::WebSocket { options, .. } => {
                Framing::WebSocket(Sender::new(Role::Server, options.deflate))
            }
            Opening::Events { .. } if encoded.is_chunked() => Framing::Chunked,
            Opening::Events { .. } => Framing::UntilClose,
        };
        let Some(socket) = request.peer().socket().cloned() else { return };
        let outbox = Outbox::corked(socket, framing, std::mem::take(&mut self.out));
        let session = self.new_session(token, route, *opening, request, outbox);
        self.shard.sessions_open.add(1);
        self.shard.sessions_opened.add(1);
        self.enter_session(token, session);
    }

    /// Bytes came for a session.
    pub(crate) fn begin_session_input(&mut self, token: Token, length: usize) {
        let Some(session) = self.connections.session(token) else { return };
        if session.has_backlog() {
            session.waiting().backlog.extend_from_slice(self.driver.received());
            return;
        }
        session.channel.outbox().cork(&mut self.out);
        self.current = Some(Current::received(token, length));
    }

    /// Takes the next step with the current session: an event for its handler, or something of its input.
    pub(crate) fn read_session(&mut self, token: Token) -> Progress {
        let max_waiting_bytes = self.shared.limits.pipeline_buffer_bytes;
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        if session.may_call() {
            if let Some(event) = session.pop() {
                return self.begin_event(token, event);
            }
            if let Some(ending) = session.waiting.as_mut().and_then(|waiting| waiting.ending.take()) {
                self.meet_ending(token, ending);
                return Progress::Again;
            }
            if session.stage == Stage::Gone {
                self.current = None;
                self.connections.remove_session(token);
                return Progress::Done;
            }
        }
        match session.stage {
            Stage::Gone => Progress::Done,
            _ if session.has_ending() => self.discard_session_input(token),
            Stage::Lingering { .. } => self.discard_session_input(token),
            Stage::Open | Stage::Closing if session.may_decode(max_waiting_bytes) => self.decode(token),
            Stage::Open | Stage::Closing => Progress::Done,
        }
    }

    /// The current session's handler has been called here.
    pub(crate) fn handled(&mut self, handling: Handling) {
        self.set_now();
        if let Some(session) = self.connections.session(handling.channel.token) {
            session.is_busy = false;
        }
    }

    /// A session's handler has been called elsewhere.
    pub(crate) fn session_handled(&mut self, token: Token, waited_ns: Option<u64>) {
        if let Some(waited_ns) = waited_ns {
            self.shard.queue_wait.record(waited_ns);
        }
        let Some(session) = self.connections.session(token) else { return };
        session.is_busy = false;
        self.take_up_session(token);
    }

    /// A session's handler takes messages again; if it is busy, it goes on when it is done.
    pub(crate) fn resume_session(&mut self, token: Token) {
        if self.connections.session(token).is_some_and(|session| session.may_call()) {
            self.take_up_session(token);
        }
    }

    /// Goes on with a session: there is something for its handler, or its input may be looked at again.
    pub(crate) fn take_up_session(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        session.channel.set_awaited(false);
        let backlog = session.take_backlog();
        let is_paused = session.is_paused;
        if session.stage != Stage::Gone {
            session.channel.outbox().cork(&mut self.out);
        }
        self.current = Some(Current::kept(token, backlog));
        if is_paused {
            self.set_session_receiving(token, true);
        }
    }

    /// Leaves the current session: keeps what could not be looked at yet, sends what has gathered.
    pub(crate) fn leave_session(&mut self, current: Current) {
        let token = current.token;
        let max_waiting_bytes = self.shared.limits.pipeline_buffer_bytes;
        let Some(session) = self.connections.session(token) else { return };
        if session.stage == Stage::Gone {
            // Its place is free when the handler has been told.
            session.channel.set_awaited(true);
            return;
        }
        let rest = current.input.rest(self.driver.received(), current.read);
        if !session.is_lingering() && !rest.is_empty() {
            session.waiting().backlog = rest.to_vec();
        }
        session.channel.set_awaited(session.is_busy && session.has_more_to_do());
        if session.has_backlog() {
            if session.may_decode(max_waiting_bytes) {
                // The loop was taken from its handler in the middle of the input.
                self.ready.push_back(token);
            } else {
                self.set_session_receiving(token, false);
            }
        }
        self.uncork(token);
        let Some(session) = self.connections.session(token) else { return };
        session.release_waiting();
        if session.has_ended && !session.has_backlog() {
            self.session_met_end(token);
        }
    }

    /// The peer has ended its sending direction.
    pub(crate) fn session_ended(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        session.has_ended = true;
        if !session.has_backlog() {
            self.session_met_end(token);
        }
    }

    /// The loop is to send what waits.
    pub(crate) fn flush_session(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        if session.stalled_since_ms().is_some() {
            return;
        }
        session.has_waited = true;
        let next = session.channel.outbox().next_outgoing();
        match next {
            Some(outgoing) => self.send_for_session(token, outgoing),
            None => self.session_flushed(token),
        }
    }

    /// Some of what was waiting to be sent has been.
    pub(crate) fn session_sent(&mut self, token: Token, mut outgoing: Outgoing, count: usize) {
        let Some(session) = self.connections.session(token) else { return };
        session.channel.outbox().note_sent(count);
        session.waiting().stalled_since_ms = None;
        if outgoing.remaining() > 0 {
            self.send_for_session(token, outgoing);
        } else {
            outgoing.head.clear();
            self.keep_buffer(outgoing.head);
            self.flush_session(token);
        }
        let max_waiting_bytes = self.shared.limits.pipeline_buffer_bytes;
        let Some(session) = self.connections.session(token) else { return };
        if session.has_backlog() && session.may_decode(max_waiting_bytes) {
            self.ready.push_back(token);
        }
    }

    /// Somebody has said goodbye on it.
    pub(crate) fn session_closing(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        if session.stage != Stage::Open {
            return;
        }
        if session.receiver.is_none() {
            session.tell_close(None, Closed::by_peer(None));
            self.linger(token);
            return;
        }
        session.stage = Stage::Closing;
        self.set_session_deadline(token);
    }

    /// The server stops.
    pub(crate) fn dismiss_session(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        let channel = Arc::clone(&session.channel);
        channel.say_goodbye(Some(&CloseFrame::new(CloseCode::GOING_AWAY, "the server is shutting down")));
        self.session_closing(token);
    }

    /// A session's deadline has come.
    pub(crate) fn session_deadline_passed(&mut self, token: Token) {
        let now_ms = self.now_ms;
        let Some(session) = self.connections.session(token) else { return };
        let stall_timeout_ms = session.channel.settings.write_stall_timeout_ms;
        match session.stage {
            Stage::Gone => {}
            _ if session.stalled_since_ms().is_some_and(|since_ms| since_ms + stall_timeout_ms <= now_ms) => {
                self.shard.connections_timed_out.add(1);
                self.close_session(token, Some(WebSocketError::WriteStall));
            }
            Stage::Closing | Stage::Lingering { .. } => self.close_session(token, None),
            Stage::Open => self.look_whether_alive(token),
        }
    }

    /// Closes the connection at once; its handler is told.
    pub(crate) fn close_session(&mut self, token: Token, error: Option<WebSocketError>) {
        let Some(session) = self.connections.session(token) else { return };
        if session.stage == Stage::Gone {
            return;
        }
        session.tell_close(error, Closed::abnormally());
        session.stage = Stage::Gone;
        if let Some(waiting) = &mut session.waiting {
            waiting.backlog = Vec::new();
            waiting.ending = None;
        }
        session.receiver = None;
        session.channel.outbox().end();
        session.channel.set_awaited(true);
        let is_busy = session.is_busy;
        self.leave_topics(token);
        if self.is_current(token) {
            self.current = None;
        }
        if !is_busy {
            self.ready.push_back(token);
        }
        self.driver.detach(token);
        self.shard.sessions_open.subtract(1);
        self.count_out();
    }

    /// Says when to look at a session if nothing happens: whether its peer is alive, or has had its time to end.
    fn set_session_deadline(&mut self, token: Token) {
        let (now_ms, linger_timeout_ms) = (self.now_ms, self.shared.limits.linger_timeout_ms);
        let Some(session) = self.connections.session(token) else { return };
        let settings = &session.channel.settings;
        let end_ms = match session.stage {
            Stage::Open | Stage::Gone => None,
            Stage::Closing => Some(now_ms + settings.close_timeout_ms),
            Stage::Lingering { .. } => Some(now_ms + linger_timeout_ms),
        };
        let stall_ms = session.stalled_since_ms().map(|since_ms| since_ms + settings.write_stall_timeout_ms);
        let ping_ms = (settings.ping_interval_ms > 0).then(|| {
            let pong_timeout_ms = if session.is_pinged { settings.pong_timeout_ms } else { 0 };
            session.received_ms + settings.ping_interval_ms + pong_timeout_ms
        });
        let usual_ms = [stall_ms, ping_ms].into_iter().flatten().min();
        if let Some(deadline_ms) = end_ms.or(usual_ms) {
            self.set_deadline(token, deadline_ms);
        }
    }

    fn new_session(
        &mut self,
        token: Token,
        route: RouteId,
        opening: Opening,
        request: Request,
        outbox: Outbox,
    ) -> Session {
        let remote = request.remote_addr();
        let home = Arc::clone(&self.home);
        let (receiver, settings, handler, event) = match opening {
            Opening::WebSocket { handler, options } => {
                let receiver = Receiver::new(Role::Server, options.deflate);
                let settings = self.shared.channel_settings(route, &options);
                (Some(receiver), settings, Some(handler), SocketEvent::Open(Box::new(request)))
            }
            Opening::Events { open } => {
                let settings = Arc::clone(&self.shared.stream_settings);
                (None, settings, None, SocketEvent::OpenStream(open, Box::new(request)))
            }
        };
        let channel = Channel::new(token, remote, home, settings, handler, outbox);
        let mut session = Session::new(Arc::new(channel), receiver, route, self.now_ms);
        session.push(event);
        session
    }

    /// Puts the session in its connection's place, and goes on with what has come for it.
    fn enter_session(&mut self, token: Token, mut session: Session) {
        let Some(connection) = self.connections.get(token) else { return };
        session.timing = connection.timing;
        session.has_ended = connection.has_ended;
        session.is_paused = connection.is_paused;
        let backlog = std::mem::take(&mut connection.backlog);
        let is_current = self.is_current(token);
        self.connections.begin_session(token, session);
        if !is_current {
            self.current = Some(Current::kept(token, backlog));
        }
        self.set_session_receiving(token, true);
        self.set_session_deadline(token);
        if self.is_past_grace() {
            self.dismiss_session(token);
        }
    }

    /// A session cannot begin here: the answer was deferred, or the method is HEAD.
    fn answer_without_session(&mut self, token: Token, exchange: u32, mut response: Response) {
        let body = std::mem::take(response.body_mut());
        if matches!(body.0, Kind::Session(ref opening) if matches!(**opening, Opening::WebSocket { .. })) {
            tracing::error!("a deferred answer cannot begin a WebSocket");
            response = problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None);
        }
        if self.is_current(token) {
            self.respond(token, exchange, &mut response);
        } else {
            self.give_answer(token, exchange, Answer { response, request: None });
        }
    }

    fn is_current(&self, token: Token) -> bool {
        self.current.as_ref().is_some_and(|current| current.token == token)
    }

    /// Calls the handler, here or on a worker.
    fn begin_event(&mut self, token: Token, event: SocketEvent) -> Progress {
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        session.is_busy = true;
        let route = session.route;
        let channel = Arc::clone(&session.channel);
        let class = &self.shared.routes[route.0 as usize].messages;
        if self.runs_inline(class) {
            class.begins_inline();
            *self.due = Some(Due::Event(Handling { channel, event }));
            return Progress::Call;
        }
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        let events = session.batch(event);
        let expected = self.shared.routes[route.0 as usize].messages.expected();
        self.jobs.push(Job::events(channel, events, route, self.now, expected));
        Progress::Again
    }

    fn decode(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        let input = current.input.rest(self.driver.received(), current.read);
        if input.is_empty() {
            return Progress::Done;
        }
        session.received_ms = self.now_ms;
        session.is_pinged = false;
        let Some(receiver) = &mut session.receiver else {
            current.read += input.len();
            return Progress::Done;
        };
        let mut rest = input;
        let received =
            receiver.receive(&mut rest, session.channel.settings.max_message_bytes, &mut self.codec);
        current.read += input.len() - rest.len();
        match received {
            Ok(None) => Progress::Done,
            Ok(Some(frame)) => self.take_frame(token, frame),
            Err(failure) => {
                session.waiting().ending = Some(Ending::Failure(failure));
                Progress::Again
            }
        }
    }

    fn take_frame(&mut self, token: Token, frame: Frame) -> Progress {
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        match frame {
            Frame::Message(message) if session.stage == Stage::Open => {
                self.shard.messages_received.add(1);
                if session.may_call() && !session.has_events() {
                    return self.begin_event(token, SocketEvent::Message(message));
                }
                session.push(SocketEvent::Message(message));
            }
            Frame::Ping(payload) => session.channel.pong(&payload),
            Frame::Close(frame) => session.waiting().ending = Some(Ending::Goodbye(frame)),
            Frame::Message(_) | Frame::Pong(_) => {}
        }
        Progress::Again
    }

    /// The peer has said its last, and all before it has been handled.
    fn meet_ending(&mut self, token: Token, ending: Ending) {
        let Some(session) = self.connections.session(token) else { return };
        match ending {
            Ending::Goodbye(frame) => {
                session.channel.say_goodbye(frame.as_ref());
                session.tell_close(None, Closed::by_peer(frame));
            }
            Ending::Failure(failure) => {
                let frame = CloseFrame::new(failure.code(), failure.reason());
                session.channel.say_goodbye(Some(&frame));
                session.tell_close(Some(WebSocketError::Protocol(failure)), Closed::with_failure(frame));
                self.shard.sessions_failed.add(1);
            }
            Ending::Silence => {
                self.close_session(token, Some(WebSocketError::Disconnected));
                return;
            }
        }
        self.linger(token);
    }

    /// Everything is said: the connection closes as soon as the peer has taken it.
    fn linger(&mut self, token: Token) {
        let budget_bytes = self.shared.limits.max_linger_bytes.min(u32::MAX as usize) as u32;
        let Some(session) = self.connections.session(token) else { return };
        session.stage = Stage::Lingering { budget_bytes, is_shut: false };
        session.take_backlog();
        let is_flushed = session.channel.outbox().is_flushed();
        self.leave_topics(token);
        self.set_session_receiving(token, true);
        self.set_session_deadline(token);
        if is_flushed {
            self.session_flushed(token);
        }
    }

    fn discard_session_input(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let length = current.left();
        current.read = current.length;
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        if let Stage::Lingering { budget_bytes, .. } = &mut session.stage {
            match (*budget_bytes as usize).checked_sub(length) {
                Some(left) => *budget_bytes = left as u32,
                None => self.close_session(token, None),
            }
        }
        Progress::Done
    }

    /// All that came before the end of the peer's sending direction has been looked at.
    fn session_met_end(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        match session.stage {
            Stage::Open if session.has_ending() => {}
            // What came before is handled first.
            Stage::Open if !session.may_call() => {
                session.waiting().ending = Some(Ending::Silence);
                session.channel.set_awaited(true);
            }
            Stage::Open if session.receiver.is_some() => {
                self.close_session(token, Some(WebSocketError::Disconnected));
            }
            Stage::Open | Stage::Closing | Stage::Lingering { .. } | Stage::Gone => {
                self.close_session(token, None);
            }
        }
    }

    fn uncork(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        let uncorked = session.channel.outbox().uncork();
        match uncorked {
            Uncorked::Nothing(buffer) => {
                self.keep_buffer(buffer);
                self.session_flushed(token);
            }
            Uncorked::Something(outgoing) => self.send_for_session(token, outgoing),
            Uncorked::Sending => {}
        }
    }

    /// Sends, and what waits behind it, as much as the kernel takes.
    fn send_for_session(&mut self, token: Token, mut outgoing: Outgoing) {
        loop {
            let remaining = outgoing.remaining();
            match self.submit(token, &mut outgoing) {
                Submission::Done => {
                    let Some(session) = self.connections.session(token) else { return };
                    let mut outbox = session.channel.outbox();
                    outbox.note_sent(remaining);
                    let next = outbox.next_outgoing();
                    drop(outbox);
                    self.keep_buffer(outgoing.head);
                    match next {
                        Some(next) => outgoing = next,
                        None => {
                            self.session_flushed(token);
                            return;
                        }
                    }
                }
                Submission::Failed => {
                    self.close_session(token, Some(WebSocketError::Disconnected));
                    return;
                }
                Submission::Pending { sent } => {
                    let now_ms = self.now_ms;
                    let Some(session) = self.connections.session(token) else { return };
                    session.channel.outbox().note_sent(sent);
                    session.waiting().stalled_since_ms = Some(now_ms);
                    session.has_waited = true;
                    let stall_timeout_ms = session.channel.settings.write_stall_timeout_ms;
                    self.set_deadline(token, now_ms + stall_timeout_ms);
                    return;
                }
            }
        }
    }

    /// All that waited has been sent.
    fn session_flushed(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        let has_waited = std::mem::take(&mut session.has_waited);
        if has_waited {
            self.set_session_deadline(token);
        }
        let Some(session) = self.connections.session(token) else { return };
        match &mut session.stage {
            Stage::Lingering { .. } if session.has_ended => self.close_session(token, None),
            Stage::Lingering { is_shut, .. } => {
                if !std::mem::replace(is_shut, true) {
                    self.driver.shutdown_send(token);
                }
            }
            Stage::Open if has_waited => {
                session.push(SocketEvent::Drained);
                self.ready.push_back(token);
            }
            Stage::Open | Stage::Closing | Stage::Gone => {}
        }
    }

    fn look_whether_alive(&mut self, token: Token) {
        let now_ms = self.now_ms;
        let Some(session) = self.connections.session(token) else { return };
        if session.is_paused || session.has_ending() {
            // What it says is not looked at, or it has said its last: it is not its fault that nothing is heard.
            session.received_ms = now_ms;
        }
        let settings = &session.channel.settings;
        let silent_ms = now_ms.saturating_sub(session.received_ms);
        if settings.ping_interval_ms > 0 && silent_ms >= settings.ping_interval_ms {
            if session.receiver.is_none() {
                // A client of events says nothing; it is the sending that shows whether it is there.
                session.received_ms = now_ms;
            } else if silent_ms >= settings.ping_interval_ms + settings.pong_timeout_ms {
                self.shard.connections_timed_out.add(1);
                self.close_session(token, Some(WebSocketError::PingTimeout));
                return;
            }
            if let Some(receiver) = &mut session.receiver {
                // What compression keeps between messages is worth more elsewhere.
                receiver.release_idle();
                session.channel.outbox().release_idle();
            }
            if !session.is_pinged {
                session.is_pinged = session.receiver.is_some();
                let channel = Arc::clone(&session.channel);
                // One that has no room for a ping is looked at again all the same.
                let _ = channel.ping(&[]);
            }
        }
        self.set_session_deadline(token);
    }

    fn set_session_receiving(&mut self, token: Token, receiving: bool) {
        let Some(session) = self.connections.session(token) else { return };
        if session.is_paused == receiving && session.stage != Stage::Gone {
            session.is_paused = !receiving;
            self.driver.set_receiving(token, receiving);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_idle_session_is_small() {
        assert!(size_of::<Session>() <= 136, "{} bytes", size_of::<Session>());
        assert!(size_of::<Channel>() <= 232, "{} bytes", size_of::<Channel>());
    }
}
