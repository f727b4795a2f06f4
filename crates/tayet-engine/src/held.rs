//! Answers that wait a moment for those that follow them.
//!
//! A send wakes its client, which takes the sender several microseconds where the client's core sleeps. While the loop calls
//! one handler after another, and each takes longer than that, the first answers would wake clients which then wait for the
//! next; sent together, they wake them once. What is held is sent at the end of the turn, and before that as soon as it has
//! waited: so an answer waits only while others are being made, and no longer than a call beyond [`MAX_HELD_NS`].

use bytes::Bytes;
use tayet_net::{Moment, Outgoing, Token};

use crate::connection::Phase;
use crate::event_loop::Loop;

/// Beside what took longer to be made, a wake-up is little. What took less than
/// [`hold_answers_from_us`](crate::Limits::hold_answers_from_us) had better be sent at once.
const MAX_MADE_NS: u64 = 500_000;
/// How many are held, and of how many bytes together; the last may go beyond.
const MAX_HELD_ANSWERS: usize = 64;
const MAX_HELD_BYTES: usize = 256 * 1024;
/// How long the first of them is held, but for the call that is under way then.
const MAX_HELD_NS: u64 = 1_000_000;

/// What is held, in the order in which it was made; of a connection one answer at most.
#[derive(Default)]
pub(crate) struct HeldAnswers {
    answers: Vec<Held>,
    bytes: usize,
}

struct Held {
    token: Token,
    answer: Vec<u8>,
    since: Moment,
}

impl Loop {
    /// Holds what is gathered for a connection whose answer took so long; `false` where it is to be sent at once.
    #[inline]
    pub(crate) fn hold(&mut self, token: Token, took_ns: u64) -> bool {
        let min_ns = self.shared.limits.hold_answers_from_us.saturating_mul(1_000);
        (min_ns..MAX_MADE_NS).contains(&took_ns) && self.hold_if_free(token)
    }

    #[inline(never)]
    fn hold_if_free(&mut self, token: Token) -> bool {
        if self.out.head.is_empty() || self.stop_at_ms.is_some() {
            return false;
        }
        let Some(connection) = self.connections.get(token) else { return false };
        let is_free = matches!(connection.phase, Phase::Head) && connection.sending.is_none();
        if !is_free || connection.has_ended || !connection.backlog.is_empty() {
            return false;
        }
        let held = Held { token, answer: std::mem::take(&mut self.out.head), since: self.now };
        self.held.push(held);
        if self.held.is_enough(self.now) {
            self.send_held();
        }
        true
    }

    /// Sends all that is held.
    pub(crate) fn send_held(&mut self) {
        if self.held.answers.is_empty() {
            return;
        }
        let mut answers = std::mem::take(&mut self.held.answers);
        for Held { token, answer: head, .. } in answers.drain(..) {
            // The connection may have broken meanwhile.
            if self.connections.get(token).is_some() {
                self.send(token, &mut Outgoing { head, tail: Bytes::new(), sent: 0 });
            }
        }
        self.held = HeldAnswers { answers, bytes: 0 };
    }

    /// The same, if something of this connection is: it is about to go on.
    pub(crate) fn send_held_of(&mut self, token: Token) {
        if self.held.answers.iter().any(|held| held.token == token) {
            self.send_held();
        }
    }
}

impl HeldAnswers {
    fn push(&mut self, held: Held) {
        self.bytes += held.answer.len();
        self.answers.push(held);
    }

    fn is_enough(&self, now: Moment) -> bool {
        self.answers.len() >= MAX_HELD_ANSWERS
            || self.bytes >= MAX_HELD_BYTES
            || self.answers.first().is_some_and(|first| now.ns_since(first.since) >= MAX_HELD_NS)
    }
}
