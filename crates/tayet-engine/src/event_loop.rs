//! A loop: a poller, its connections, their deadlines. It is a value; the thread that drives it may change.
//!
//! [`Loop::step`] goes on until a handler is to be called on this thread. What it needs to go on from there, by whatever
//! thread, is in the loop: which connection is being looked at, how far its input has been read, what is to be sent.
//! The life of a request within it is in `exchange.rs` and its folder, which also says why some functions are never inlined.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use tayet_http1::HeadLimits;
use tayet_net::{
    AcceptError, Completion, Driver, Moment, Outgoing, PeerAddress, Submitted, TimerWheel, Token,
};
use tayet_websocket::Codec;

use crate::call_clock::CallClock;
use crate::channel::Channel;
use crate::clock::DateCache;
use crate::connection::{AfterSend, Connection, Phase, Table};
use crate::counters::Shard;
use crate::fan_out::LocalTopics;
use crate::grace::Grace;
use crate::held::HeldAnswers;
use crate::home::Home;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::request_body::BodyError;
use crate::route_class::{Overrun, RouteClass};
use crate::shared::Shared;
use crate::socket_event::SocketEvent;
use crate::spare_requests::SpareRequests;
use crate::worker::{self, Job};
use crate::{ExecutionModel, Request, WebSocketError};

/// How long accepting pauses when the process is out of descriptors, or connections are at their limit.
const ACCEPT_PAUSE_MS: u64 = 100;

/// Calls that are known to take less are let come first where cores are short. 300 us.
const MAX_LET_FIRST: Duration = Duration::from_micros(300);

/// By how many connections a loop may lead another before it gives new ones away: this many, and one for so many that the
/// other has.
const MAX_LEAD: usize = 4;
const MAX_LEAD_PART: usize = 32;

/// What a client is told that ends its sending direction within a request.
const CUT_SHORT: &str = "the request is not complete";

/// A loop's way to let go of its thread.
pub(crate) enum Step {
    /// This is to be called.
    Call(Due),
    /// The loop has stopped.
    Stopped,
}

/// What is to be called on a loop's thread.
pub(crate) enum Due {
    /// A request's handler; [`Loop::answered`] follows.
    Request(Box<Request>),
    /// A socket's handler; `SessionWork::handled` follows.
    Event { channel: Arc<Channel>, event: SocketEvent },
}

/// A loop. On cache lines of its own, since its thread writes here for each request.
#[repr(align(128))]
pub(crate) struct Loop {
    index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) connections: Table,
    pub(crate) current: Option<Current>,
    /// What is to be sent on the current connection.
    pub(crate) out: Outgoing,
    pub(crate) held: HeldAnswers,
    pub(crate) call_clock: CallClock,
    pub(crate) jobs: Vec<Job>,
    /// What is to be called here.
    pub(crate) due: Option<Due>,
    /// Jobs that the pool had no room for.
    rejected: Vec<Job>,
    pub(crate) spare_requests: SpareRequests,
    pub(crate) head_limits: HeadLimits,
    pub(crate) date: DateCache,
    pub(crate) now: Moment,
    pub(crate) now_ms: u64,
    /// When the loop gives up on what is under way; `Some` while it drains.
    pub(crate) stop_at_ms: Option<u64>,
    /// While a draining loop still takes in what is on its way to it.
    pub(crate) grace: Option<Grace>,
    pub(crate) home: Arc<Home>,
    pub(crate) codec: Codec,
    pub(crate) topics: LocalTopics,
    /// Sessions to be gone on with.
    pub(crate) ready: VecDeque<Token>,
    inbox: VecDeque<Message>,
    pub(crate) timers: TimerWheel,
    /// This end's address, by listener.
    locals: Vec<PeerAddress>,
    accept_again_at_ms: Option<u64>,
    /// The loop whose number of connections was looked at last.
    compared: usize,
    /// What its home says.
    takes_answers: bool,
}

/// How far a send has come when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Done,
    Pending,
    /// The connection is closed.
    Failed,
}

/// What became of something that was handed to the driver.
pub(crate) enum Submission {
    /// All is sent.
    Done,
    /// So many bytes were sent at once, and a completion is to come.
    Pending {
        sent: usize,
    },
    Failed,
}

/// The connection whose input is being read.
pub(crate) struct Current {
    pub(crate) token: Token,
    pub(crate) input: Input,
    /// How much of the input has been read.
    pub(crate) read: usize,
    /// How long it is.
    pub(crate) length: usize,
    /// How long its last answer took, in nanoseconds.
    pub(crate) took_ns: u64,
}

/// Where the input of the current connection lies.
pub(crate) enum Input {
    /// In the driver, until its next completion is asked for.
    Received,
    /// Here, kept from before.
    Kept(Vec<u8>),
}

impl Current {
    /// Begins with what the driver has received, so many bytes.
    pub(crate) fn received(token: Token, length: usize) -> Self {
        Self { token, input: Input::Received, read: 0, length, took_ns: 0 }
    }

    /// Begins with bytes that were kept.
    pub(crate) fn kept(token: Token, bytes: Vec<u8>) -> Self {
        Self { token, length: bytes.len(), input: Input::Kept(bytes), read: 0, took_ns: 0 }
    }

    /// How much of the input has not been read.
    pub(crate) fn left(&self) -> usize {
        self.length - self.read
    }
}

impl Loop {
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        mut driver: Box<dyn Driver>,
        locals: Vec<PeerAddress>,
    ) -> Self {
        let now = driver.now();
        let now_ms = now.as_ms();
        Self {
            index,
            shard: Arc::clone(&shared.shards[index]),
            home: Arc::clone(&shared.homes[index]),
            codec: Codec::default(),
            topics: LocalTopics::default(),
            ready: VecDeque::new(),
            head_limits: shared.limits.head(),
            call_clock: CallClock::new(),
            held: HeldAnswers::new(shared.limits.hold_answers_from_us, shared.routes.len()),
            shared,
            driver,
            connections: Table::default(),
            current: None,
            out: Outgoing::default(),
            jobs: Vec::new(),
            due: None,
            rejected: Vec::new(),
            spare_requests: SpareRequests::default(),
            date: DateCache::new(),
            now,
            now_ms,
            stop_at_ms: None,
            grace: None,
            inbox: VecDeque::new(),
            timers: TimerWheel::new(now_ms),
            locals,
            accept_again_at_ms: None,
            compared: index,
            takes_answers: false,
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// A thread begins to drive the loop. If another one was left behind within a handler, the connection of that handler's
    /// request waits for its answer, and the loop goes on with the next.
    pub(crate) fn arrive(&mut self) {
        self.set_now();
        self.shared.monitor.loop_wakes(self.index, self.now);
        if self.current.is_some() {
            self.leave_current();
        }
        self.send_held();
    }

    /// The monitor's, when it has taken the loop.
    pub(crate) fn note_takeover(&mut self, overrun: Overrun) {
        self.shared.takeovers.fetch_add(1, Ordering::Relaxed);
        let Some(token) = self.current.as_ref().map(|current| current.token) else { return };
        let now_ms = self.now_ms;
        let (route, class) = if let Some(session) = self.connections.session(token) {
            let route = &self.shared.routes[session.route.0 as usize];
            (route, &route.messages)
        } else if let Some(Connection { phase: Phase::Busy(busy), .. }) = self.connections.get(token) {
            let route = &self.shared.routes[busy.route.0 as usize];
            (route, route.classes.of(busy.group))
        } else {
            return;
        };
        class.overran(overrun, now_ms);
        tracing::debug!(route = %route.label, ?overrun, "a handler overran; its loop goes on without it");
    }

    /// Goes on until a handler is to be called on this thread, or the loop has stopped.
    pub(crate) fn step(&mut self) -> Step {
        loop {
            if self.advance() {
                // The handler may take its time: what was gathered for others must not wait for it.
                self.dispatch_jobs();
                if let Some(due) = self.due.take() {
                    self.take_answers(false);
                    return Step::Call(due);
                }
            } else if self.has_errand() {
                self.run_errand();
            } else if let Some(completion) = self.next_completion() {
                self.complete(completion);
            } else if self.topics.has_work() {
                self.take_answers(false);
                self.shared.sessions().work_on_topics(self);
            } else if !self.turn() {
                return Step::Stopped;
            }
        }
    }

    /// Whether there is something that does not come from the driver.
    fn has_errand(&self) -> bool {
        !(self.inbox.is_empty() && self.rejected.is_empty() && self.ready.is_empty())
    }

    #[inline(never)]
    fn run_errand(&mut self) {
        if let Some(message) = self.inbox.pop_front() {
            self.receive_message(message);
        } else if let Some(job) = self.rejected.pop() {
            self.overflow(job);
        } else if let Some(token) = self.ready.pop_front() {
            self.shared.sessions().take_up(self, token);
        }
    }

    /// The end of a turn and the beginning of the next: hands over, reads the mail, waits. `false` when the loop has
    /// stopped.
    #[inline(never)]
    fn turn(&mut self) -> bool {
        self.send_held();
        let come_first = !self.jobs.is_empty()
            && self.jobs.iter().all(|job| job.expected().is_some_and(|expected| expected < MAX_LET_FIRST));
        self.dispatch_jobs();
        if come_first {
            // The workers come first where cores are short: more is ready then, and loop and workers take turns with large
            // batches. Behind calls that may take long the loop would stand in a queue.
            self.take_answers(true);
            std::thread::yield_now();
        }
        if !self.rejected.is_empty() {
            return true;
        }
        self.end_grace();
        if self.is_done() {
            self.close_all();
            return false;
        }
        self.count_look();
        let sleeps = self.home.mailbox.fall_asleep();
        if sleeps {
            self.take_answers(false);
            self.shared.monitor.loop_sleeps(self.index);
            if let Err(error) = self.driver.wait(self.next_look_in()) {
                tracing::error!(%error, "the poller failed");
                std::thread::sleep(Duration::from_millis(ACCEPT_PAUSE_MS));
            }
        }
        self.set_now();
        if sleeps {
            self.shared.monitor.loop_wakes(self.index, self.now);
        }
        self.home.mailbox.take(&mut self.inbox);
        self.expire_deadlines();
        true
    }

    /// Says whether it is about to look what its workers have done, and does nothing else until then.
    #[inline]
    fn take_answers(&mut self, takes: bool) {
        if self.takes_answers != takes {
            self.takes_answers = takes;
            self.home.takes_answers.store(takes, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_now(&mut self) {
        let now = self.driver.now();
        self.go_on_at(now);
    }

    pub(crate) fn go_on_at(&mut self, now: Moment) {
        // Between requests that came together the clock mostly stands still.
        if now == self.now {
            return;
        }
        self.now = now;
        self.now_ms = self.now.as_ms();
        let Shared { monitor, pool, flusher, .. } = &*self.shared;
        monitor.loop_goes_on(self.index, self.now, pool, flusher);
    }

    fn is_done(&self) -> bool {
        let has_nothing_left = self.grace.is_none() && self.connections.len() == 0;
        self.stop_at_ms.is_some_and(|stop_at_ms| has_nothing_left || self.now_ms >= stop_at_ms)
    }

    fn next_look_in(&self) -> Option<Duration> {
        let until = |at_ms: u64| Duration::from_millis(at_ms.saturating_sub(self.now_ms));
        let grace_until_ms = self.grace.as_ref().map(Grace::until_ms);
        let others =
            [self.stop_at_ms, grace_until_ms, self.accept_again_at_ms].into_iter().flatten().map(until);
        others.chain(self.timers.next_in(self.now_ms)).min()
    }

    fn complete(&mut self, completion: Completion) {
        match completion {
            Completion::Received(token, length) => {
                self.shard.received_bytes.add(length as u64);
                self.begin_input(token, length);
            }
            Completion::Sent(token, outgoing, result) => self.sent(token, *outgoing, result),
            Completion::Writable(token) => self.writable(token),
            Completion::Accepted { listener, peer } => self.accepted(listener, peer),
            Completion::Ended(token) => self.ended(token),
            Completion::Broken(token, error) => self.broken(token, &error),
            Completion::AcceptFailed(error) => self.accept_failed(&error),
        }
    }

    #[inline(never)]
    fn accepted(&mut self, listener: usize, address: PeerAddress) {
        if !self.gives_away(listener, address) {
            self.accept(listener, address);
        }
    }

    /// Gives the connection that was just accepted to another loop, if that has clearly fewer. The kernel spreads connections
    /// by chance; looking at one other loop each time, in turn, is enough to keep them level.
    fn gives_away(&mut self, listener: usize, address: PeerAddress) -> bool {
        let loops = self.shared.homes.len();
        if loops == 1 || self.stop_at_ms.is_some() {
            return false;
        }
        self.compared = (self.compared + 1) % loops;
        if self.compared == self.index {
            self.compared = (self.compared + 1) % loops;
        }
        let other = &self.shared.homes[self.compared];
        let theirs = self.shared.shards[self.compared].connections_open.get() as usize
            + other.coming_connections.load(Ordering::Relaxed);
        if self.connections.len() <= theirs + MAX_LEAD + theirs / MAX_LEAD_PART {
            return false;
        }
        let Some(socket) = self.driver.take_accepted() else { return false };
        other.coming_connections.fetch_add(1, Ordering::Relaxed);
        other.mailbox.post(Message::Accepted { listener, address, socket });
        true
    }

    fn accept(&mut self, listener: usize, address: PeerAddress) {
        let token = self.connections.next_token();
        if let Err(error) = self.driver.attach(token) {
            self.accept_failed(&AcceptError::Connection(error));
            return;
        }
        let Some(socket) = self.driver.socket(token) else { return };
        let local = self.locals[listener];
        let peer = Arc::new(Peer::new(token, address, local, Arc::clone(&self.home), socket));
        let phase = if self.shared.has_proxy_protocol { Phase::Proxy { local } } else { Phase::Head };
        self.connections.insert(Connection::new(phase, peer));
        self.driver.set_companion(token, self.connections.companion(token));
        self.shard.connections_accepted.add(1);
        self.shard.connections_open.add(1);
        let deadline_ms = if self.shared.has_proxy_protocol {
            self.shared.limits.head_timeout_ms
        } else {
            self.shared.limits.keep_alive_timeout_ms
        };
        self.set_deadline(token, self.now_ms + deadline_ms);
        if self.shared.open_connections.fetch_add(1, Ordering::Relaxed) + 1 >= self.shared.max_connections {
            self.pause_accepting();
        }
    }

    #[inline(never)]
    fn accept_failed(&mut self, error: &AcceptError) {
        self.shard.accept_errors.add(1);
        match error {
            AcceptError::Exhausted(error) => {
                tracing::warn!(%error, "no more connections can be accepted for now");
                self.pause_accepting();
            }
            AcceptError::Connection(error) => tracing::debug!(%error, "a connection could not be accepted"),
        }
    }

    fn pause_accepting(&mut self) {
        self.driver.set_accepting(false);
        self.accept_again_at_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
    }

    fn resume_accepting(&mut self) {
        if self.accept_again_at_ms.is_none_or(|at_ms| at_ms > self.now_ms) {
            return;
        }
        self.accept_again_at_ms = None;
        if self.stop_at_ms.is_some() {
            return;
        }
        if self.shared.open_connections.load(Ordering::Relaxed) < self.shared.max_connections {
            self.driver.set_accepting(true);
        } else {
            self.accept_again_at_ms = Some(self.now_ms + ACCEPT_PAUSE_MS);
        }
    }

    #[inline(never)]
    fn broken(&mut self, token: Token, error: &io::Error) {
        tracing::debug!(%error, "a connection broke");
        self.close(token);
    }

    /// The peer has ended its sending direction; it may still read the answers that it waits for.
    #[inline(never)]
    fn ended(&mut self, token: Token) {
        self.send_held_of(token);
        if let Some(sessions) = self.sessions_of(token) {
            sessions.ended(self, token);
            return;
        }
        let Some(connection) = self.connections.get(token) else { return };
        connection.has_ended = true;
        connection.peer.set_disconnected();
        let is_proxy = matches!(connection.phase, Phase::Proxy { .. });
        if connection.sending.is_none() && (connection.backlog.is_empty() || is_proxy) {
            self.meet_end(token);
        }
    }

    /// All that came before the end of the peer's sending direction has been read.
    pub(crate) fn meet_end(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        match &mut connection.phase {
            Phase::Busy(busy) => {
                connection.peer.set_awaited(true);
                if let Some(stream) = &mut busy.stream
                    && !stream.is_finished
                {
                    stream.is_finished = true;
                    stream.pipe.finish(Err(BodyError::Disconnected));
                }
            }
            Phase::Body(_) => self.refuse(token, StatusCode::BAD_REQUEST, CUT_SHORT, None),
            Phase::Head if connection.protocol.has_partial_head() => {
                self.refuse(token, StatusCode::BAD_REQUEST, CUT_SHORT, None);
            }
            Phase::Head | Phase::Proxy { .. } | Phase::Linger { .. } => self.close(token),
        }
    }

    fn receive_message(&mut self, message: Message) {
        match message {
            Message::Answer { token, exchange, answer } => self.answer(token, exchange, answer),
            Message::Answered(report) => self.exchange_over(report),
            Message::BodyWanted(token) => self.body_wanted(token),
            Message::BodyReturned { token, exchange, bytes } => self.body_returned(token, exchange, bytes),
            Message::Session(token, mail) => self.shared.sessions().receive(self, token, mail),
            Message::Topic(work) => self.topics.push(work),
            Message::Accepted { listener, address, socket } => {
                self.home.coming_connections.fetch_sub(1, Ordering::Relaxed);
                self.driver.put_accepted(socket);
                self.accept(listener, address);
            }
            Message::Drain => self.drain(),
        }
    }

    /// Hands what was gathered to the pool; what finds the queue full is answered with 503 as soon as no connection is
    /// being looked at.
    fn dispatch_jobs(&mut self) {
        if !self.jobs.is_empty() {
            self.dispatch_all_jobs();
        }
    }

    #[inline(never)]
    fn dispatch_all_jobs(&mut self) {
        let missing = self.shared.pool.dispatch(&mut self.jobs);
        worker::start_counted(&self.shared, missing);
        self.rejected.append(&mut self.jobs);
    }

    /// Whether a handler of this class may run here and now.
    pub(crate) fn runs_inline(&self, class: &RouteClass) -> bool {
        match self.shared.execution {
            ExecutionModel::TaskPool { .. } => !class.is_dispatched() && self.shared.pool.may_run_inline(),
            ExecutionModel::Inline => class.pin() != Some(crate::Pin::Blocking),
            ExecutionModel::ThreadPool { .. } => class.pin() == Some(crate::Pin::Inline),
        }
    }

    pub(crate) fn set_receiving(&mut self, token: Token, receiving: bool) {
        let Some(connection) = self.connections.get(token) else { return };
        if connection.is_paused != receiving {
            return;
        }
        connection.is_paused = !receiving;
        if let Phase::Busy(busy) = &mut connection.phase
            && let Some(stream) = &mut busy.stream
        {
            stream.rate.restart(self.now_ms);
        }
        self.driver.set_receiving(token, receiving);
    }

    /// Sends what is gathered for the current connection.
    pub(crate) fn flush(&mut self, token: Token) -> Sending {
        if self.out.remaining() == 0 {
            return Sending::Done;
        }
        let submission = submit(&mut *self.driver, &self.shard, token, &mut self.out);
        // Where it failed, too: what is gathered next is for another connection.
        self.clear_out();
        self.submitted(token, submission)
    }

    /// Sends; what does not go at once goes on by itself, and [`AfterSend::GoOn`] follows unless something else is noted.
    pub(crate) fn send(&mut self, token: Token, outgoing: &mut Outgoing) -> Sending {
        let submission = submit(&mut *self.driver, &self.shard, token, outgoing);
        if let Submission::Done = submission {
            self.keep_buffer(std::mem::take(&mut outgoing.head));
        }
        self.submitted(token, submission)
    }

    #[inline]
    fn submitted(&mut self, token: Token, submission: Submission) -> Sending {
        match submission {
            Submission::Done => Sending::Done,
            Submission::Failed => {
                self.close(token);
                Sending::Failed
            }
            Submission::Pending { .. } => {
                self.await_sent(token);
                Sending::Pending
            }
        }
    }

    #[inline(never)]
    fn await_sent(&mut self, token: Token) {
        self.note_after_send(token, AfterSend::GoOn);
        self.set_deadline(token, self.now_ms + self.shared.limits.write_stall_timeout_ms);
    }

    /// Says what comes when a connection has sent what it is sending.
    pub(crate) fn note_after_send(&mut self, token: Token, then: AfterSend) {
        if let Some(connection) = self.connections.get(token) {
            connection.sending = Some(then);
        }
    }

    /// Some of what was waiting to be sent has been.
    #[inline(never)]
    fn sent(&mut self, token: Token, mut outgoing: Outgoing, result: io::Result<usize>) {
        let Ok(count) = result else {
            self.close(token);
            return;
        };
        self.shard.sent_bytes.add(count as u64);
        if let Some(sessions) = self.sessions_of(token) {
            sessions.sent(self, token, outgoing, count);
            return;
        }
        let Some(connection) = self.connections.get(token) else { return };
        let then = connection.sending.take().unwrap_or(AfterSend::GoOn);
        let sending = if outgoing.remaining() > 0 {
            self.send(token, &mut outgoing)
        } else {
            self.keep_buffer(outgoing.head);
            Sending::Done
        };
        match sending {
            Sending::Done => self.after_send(token, then),
            Sending::Pending => self.note_after_send(token, then),
            Sending::Failed => {}
        }
    }

    /// Something can be sent again on a connection for which that was asked.
    #[inline(never)]
    fn writable(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        if let Some(then) = connection.sending.take() {
            self.after_send(token, then);
        }
    }

    /// Forgets what is gathered for the current connection.
    pub(crate) fn clear_out(&mut self) {
        self.out.clear(self.most_kept_bytes());
    }

    /// Room that is kept for the next answers.
    fn most_kept_bytes(&self) -> usize {
        2 * self.shared.limits.coalesce_bytes
    }

    /// Keeps a buffer that was sent, for the next answers.
    pub(crate) fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        if self.out.head.capacity() == 0 && buffer.capacity() <= self.most_kept_bytes() {
            buffer.clear();
            self.out.head = buffer;
        }
    }

    /// Says when to look at a connection if nothing happens.
    pub(crate) fn set_deadline(&mut self, token: Token, deadline_ms: u64) {
        if let Some(timing) = self.connections.timing(token) {
            timing.set(token, deadline_ms, &mut self.timers);
        }
    }

    fn expire_deadlines(&mut self) {
        self.resume_accepting();
        while let Some((tick, token)) = self.timers.expire(self.now_ms) {
            let Some(timing) = self.connections.timing(token) else { continue };
            if timing.timer_tick != NonZeroU64::new(tick) {
                continue;
            }
            timing.timer_tick = None;
            let deadline_ms = timing.deadline_ms;
            if deadline_ms > self.now_ms {
                self.set_deadline(token, deadline_ms);
            } else if let Some(sessions) = self.sessions_of(token) {
                sessions.deadline_passed(self, token);
            } else {
                self.deadline_passed(token);
            }
        }
    }

    /// Lets a connection go, at once.
    pub(crate) fn close(&mut self, token: Token) {
        if let Some(sessions) = self.sessions_of(token) {
            sessions.close(self, token, WebSocketError::Disconnected);
        }
        let Some(connection) = self.connections.remove(token) else { return };
        if self.current.as_ref().is_some_and(|current| current.token == token) {
            self.current = None;
            self.clear_out();
        }
        connection.peer.set_disconnected();
        // Its handle to the socket goes first: if no handler has one, closing is all there is to do.
        drop(connection);
        self.driver.detach(token);
        self.count_out();
    }

    pub(crate) fn count_out(&mut self) {
        self.shard.connections_open.subtract(1);
        self.shared.open_connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn close_all(&mut self) {
        for token in self.connections.tokens() {
            self.close(token);
        }
    }
}

/// Hands something to the driver until all of it is sent, or a completion is to come.
pub(crate) fn submit(
    driver: &mut dyn Driver,
    shard: &Shard,
    token: Token,
    outgoing: &mut Outgoing,
) -> Submission {
    let mut sent = 0;
    loop {
        match driver.send(token, outgoing) {
            Submitted::Done(Ok(count)) => {
                shard.sent_bytes.add(count as u64);
                sent += count;
                if outgoing.remaining() == 0 {
                    return Submission::Done;
                }
            }
            Submitted::Done(Err(_)) => return Submission::Failed,
            Submitted::Pending => return Submission::Pending { sent },
        }
    }
}
