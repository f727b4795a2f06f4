//! Answers that wait a moment for those that follow them.
//!
//! A send wakes its client, which takes the sender several microseconds where the client's core sleeps. While the loop calls
//! one handler after another, and each takes longer than that, the first answers would wake clients which then wait for the
//! next; sent together, they wake them once. What is held for this is sent at the end of the turn, and before that as soon as it
//! has waited: so an answer waits only while others are being made, and no longer than a call beyond [`MAX_HELD_NS`];
//! four calls of a quick route that has just turned slow, since between those the clock is not read (`call_clock.rs`).
//!
//! An answer that is made faster than that waits while requests are at hand that the driver has received ahead, 16 at most by epoll
//! and 64 by io_uring: a system call drives the code that reads, calls and answers out of the processor's caches, so that in between two of them it
//! takes more than twice the time. Those requests are answered first, and then all of them are sent. A call of a route that was not so
//! fast when it last ran on this loop comes behind what is held: it may take its time, and nothing else is to wait for it.
//!
//! Where a worker answers, it sends the answer itself, as a rule. But a loop that hands over calls which are known to be short lets
//! its workers come first, and then looks what they have done: short answers that were quickly made meanwhile it sends, all that it finds
//! together. By a worker each connection would change cores twice, and in between two calls there would be a send. Such a loop does nothing
//! else in between, least of all call a handler, and where it would sleep the workers send again: no answer waits for anything but the
//! loop's turn on its core, unless its worker asked in the very moment in which that ended. One such waits for a call at most as its loop does,
//! which goes on elsewhere when the call lasts.
//!
//! What a session has said while the loop was with it is held by the same rules. Until that is sent the loop is the one that writes
//! to its socket; what others say meanwhile goes behind it.

use bytes::Bytes;
use tayet_net::{BatchedSend, Completion, Moment, Outgoing, Token};

use crate::RouteId;
use crate::event_loop::Loop;

/// Beside what took longer to be made, a wake-up is little. What took less than
/// [`hold_answers_from_us`](crate::Limits::hold_answers_from_us) waits for requests at hand alone.
const MAX_MADE_NS: u64 = 500_000;
/// How many are held, and of how many bytes together; the last may go beyond.
const MAX_HELD_ANSWERS: usize = 64;
const MAX_HELD_BYTES: usize = 256 * 1024;
/// How long the first of them is held, but for the call that is under way then.
const MAX_HELD_NS: u64 = 1_000_000;
/// The same where one of them was made fast: requests at hand may prove slower than it.
const MAX_FAST_HELD_NS: u64 = 100_000;
/// Larger answers that were made fast are not held. Sixteen short ones to pipelined requests are fewer bytes; of sixteen connections it
/// is 64 KiB, for which a second cache has room several times.
pub(crate) const MAX_FAST_BYTES: usize = 4 * 1024;

/// What is held, in the order in which it was made; of a connection one answer, or what a session has said meanwhile, at most.
pub(crate) struct HeldAnswers {
    /// [`hold_answers_from_us`](crate::Limits::hold_answers_from_us) in nanoseconds.
    from_ns: u64,
    /// The first `count` are held. Those behind have been sent, and have empty buffers for the next ones.
    sends: Vec<BatchedSend>,
    count: usize,
    bytes: usize,
    /// Since when the first is held.
    since: Option<Moment>,
    /// Behind the last completion there are requests at hand, which the driver has received ahead.
    pub(crate) is_followed: bool,
    /// One of them was made fast.
    has_fast: bool,
    /// One of them is a session's, which is to be told when it has been sent.
    has_sessions: bool,
    /// By route: whether its last answer on this loop was made fast.
    fast_routes: Vec<bool>,
    /// The number of those that are sent together; it wraps.
    batch: u32,
}

impl Loop {
    /// The driver's next completion. Answers that wait for requests at hand are sent before it if there are none left.
    #[inline]
    pub(crate) fn next_completion(&mut self) -> Option<Completion> {
        let ahead = self.driver.received_ahead().len();
        if ahead > 0 {
            self.held.is_followed = ahead > 1;
            return self.driver.next();
        }
        if self.held.has_fast {
            self.send_held();
        }
        let completion = self.driver.next();
        let ahead = self.driver.received_ahead();
        self.held.is_followed = !ahead.is_empty();
        if self.held.is_followed {
            self.connections.prefetch_places(ahead);
            // To send some and to receive some took longer than most calls do, and no call is to seem to have.
            let now = self.driver.now_roughly();
            self.go_on_at(now);
        }
        completion
    }

    /// Sends all that is held.
    pub(crate) fn send_held(&mut self) {
        let count = self.held.end_batch();
        if count == 0 {
            return;
        }
        self.driver.send_batch(&mut self.held.sends[..count]);
        let has_sessions = std::mem::take(&mut self.held.has_sessions);
        for place in 0..count {
            let send = &mut self.held.sends[place];
            self.shard.sent_bytes.add(send.sent as u64);
            let (token, sent) = (send.token, send.sent);
            if sent < send.bytes.len() {
                self.send_rest(place);
                continue;
            }
            if send.bytes.capacity() > MAX_FAST_BYTES {
                send.bytes = Vec::new();
            } else {
                send.bytes.clear();
            }
            if has_sessions {
                self.shared.sessions().sent_held(self, token, sent, None);
            }
        }
    }

    /// A handler of this route is about to be called here: what was made fast must not wait for one that may not be.
    #[inline]
    pub(crate) fn send_held_before(&mut self, route: RouteId) {
        if self.held.has_fast && !self.held.fast_routes[route.0 as usize] {
            self.send_held();
        }
    }

    /// Sends all that is held if it is as much as may be, or has waited.
    #[inline]
    pub(crate) fn send_held_if_enough(&mut self) {
        if self.held.are_enough(self.now) {
            self.send_held();
        }
    }

    /// Sends what did not go at once of what is in this place.
    #[inline(never)]
    fn send_rest(&mut self, place: usize) {
        let BatchedSend { token, ref mut bytes, sent } = self.held.sends[place];
        let mut outgoing = Outgoing { head: std::mem::take(bytes), tail: Bytes::new(), sent };
        // The connection may have broken meanwhile.
        if let Some(sessions) = self.sessions_of(token) {
            sessions.sent_held(self, token, sent, Some(outgoing));
        } else if self.connections.get(token).is_some() {
            self.send(token, &mut outgoing);
        }
    }

    /// The same as [`Loop::send_held`], if something of this connection is held: it is about to go on.
    #[inline]
    pub(crate) fn send_held_of(&mut self, token: Token) {
        let batch = self.held.batch;
        if self.held.count > 0 && self.connections.held_batch(token) == Some(batch) {
            self.send_held();
        }
    }
}

impl HeldAnswers {
    pub(crate) fn new(hold_answers_from_us: u64, routes: usize) -> Self {
        Self {
            from_ns: hold_answers_from_us.saturating_mul(1_000),
            sends: Vec::new(),
            count: 0,
            bytes: 0,
            since: None,
            is_followed: false,
            has_fast: false,
            has_sessions: false,
            fast_routes: vec![false; routes],
            batch: 0,
        }
    }

    /// An answer of this route has been made in so long.
    #[inline]
    pub(crate) fn note(&mut self, route: RouteId, took_ns: u64) {
        self.fast_routes[route.0 as usize] = took_ns < self.from_ns;
    }

    /// Takes an answer that was made in so long, if it is one to be held, and leaves an empty buffer. What goes together with it has
    /// the number that is returned.
    #[inline]
    pub(crate) fn take(
        &mut self,
        token: Token,
        answer: &mut Vec<u8>,
        took_ns: u64,
        now: Moment,
    ) -> Option<u32> {
        let is_fast = took_ns < self.from_ns;
        // The last of those at hand goes with the others.
        let waits = !is_fast || ((self.is_followed || self.has_fast) && answer.len() <= MAX_FAST_BYTES);
        if !waits || took_ns >= MAX_MADE_NS || answer.is_empty() {
            return None;
        }
        self.push(token, answer, now);
        self.has_fast |= is_fast;
        Some(self.batch)
    }

    /// The same for what a session has said.
    pub(crate) fn take_of_session(
        &mut self,
        token: Token,
        said: &mut Vec<u8>,
        took_ns: u64,
        now: Moment,
    ) -> Option<u32> {
        let batch = self.take(token, said, took_ns, now);
        self.has_sessions |= batch.is_some();
        batch
    }

    /// Takes an answer that a worker has made, and leaves an empty buffer. What goes together with it has the number that is returned.
    pub(crate) fn take_made(&mut self, token: Token, answer: &mut Vec<u8>, now: Moment) -> u32 {
        self.push(token, answer, now);
        self.batch
    }

    fn push(&mut self, token: Token, answer: &mut Vec<u8>, now: Moment) {
        if self.count == 0 {
            self.batch = self.batch.wrapping_add(1);
            self.since = Some(now);
        }
        if self.count == self.sends.len() {
            self.sends.push(BatchedSend { token, bytes: Vec::new(), sent: 0 });
        }
        let send = &mut self.sends[self.count];
        (send.token, send.sent) = (token, 0);
        std::mem::swap(&mut send.bytes, answer);
        self.count += 1;
        self.bytes += send.bytes.len();
    }

    fn are_enough(&self, now: Moment) -> bool {
        let max_held_ns = if self.has_fast { MAX_FAST_HELD_NS } else { MAX_HELD_NS };
        self.count >= MAX_HELD_ANSWERS
            || self.bytes >= MAX_HELD_BYTES
            || self.since.is_some_and(|since| now.ns_since(since) >= max_held_ns)
    }

    /// The next one is the first of others. How many there were.
    fn end_batch(&mut self) -> usize {
        self.bytes = 0;
        self.has_fast = false;
        std::mem::take(&mut self.count)
    }
}
