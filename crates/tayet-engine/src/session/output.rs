//! What a session sends, as much as the kernel takes at a time.

use tayet_net::{Outgoing, Token};

use super::Stage;
use crate::WebSocketError;
use crate::channel::outbox::Uncorked;
use crate::event_loop::{Loop, Submission, submit};
use crate::socket_event::SocketEvent;

impl Loop {
    /// The loop is to send what waits.
    pub(super) fn flush_session(&mut self, token: Token) {
        self.send_held_of(token);
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
    pub(super) fn session_sent(&mut self, token: Token, mut outgoing: Outgoing, count: usize) {
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

    /// Sends what has gathered while the loop was with it, or holds it, by how long the last call took.
    pub(super) fn uncork(&mut self, token: Token, took_ns: u64) {
        let Some(session) = self.connections.session(token) else { return };
        let uncorked = session.channel.outbox().uncork();
        match uncorked {
            Uncorked::Nothing(buffer) => {
                self.keep_buffer(buffer);
                self.session_flushed(token);
            }
            Uncorked::Something(outgoing) => self.hold_or_send(token, outgoing, took_ns),
            Uncorked::Sending => {}
        }
    }

    fn hold_or_send(&mut self, token: Token, mut outgoing: Outgoing, took_ns: u64) {
        let Some(session) = self.connections.session(token) else { return };
        // One whose peer has ended closes now.
        if outgoing.tail.is_empty()
            && !session.has_ended
            && let Some(batch) = self.held.take_of_session(token, &mut outgoing.head, took_ns, self.now)
        {
            session.held_batch = batch;
            self.keep_buffer(outgoing.head);
            self.send_held_if_enough();
        } else {
            self.send_for_session(token, outgoing);
        }
    }

    /// So many bytes of what was held of it have been sent; the rest, if any, did not go at once.
    pub(super) fn session_sent_held(&mut self, token: Token, count: usize, rest: Option<Outgoing>) {
        let Some(session) = self.connections.session(token) else { return };
        if session.stage == Stage::Gone {
            return;
        }
        let mut outbox = session.channel.outbox();
        outbox.note_sent(count);
        let next = rest.or_else(|| outbox.next_outgoing());
        drop(outbox);
        match next {
            Some(outgoing) => self.send_for_session(token, outgoing),
            None => self.session_flushed(token),
        }
    }

    /// What is to be sent next, behind so many bytes that have been.
    fn next_behind(&mut self, token: Token, count: usize) -> Option<Outgoing> {
        let mut outbox = self.connections.session(token)?.channel.outbox();
        outbox.note_sent(count);
        outbox.next_outgoing()
    }

    /// Sends, and what waits behind it, as much as the kernel takes.
    fn send_for_session(&mut self, token: Token, mut outgoing: Outgoing) {
        loop {
            let remaining = outgoing.remaining();
            match submit(&mut *self.driver, &self.shard, token, &mut outgoing) {
                Submission::Done => {
                    self.keep_buffer(outgoing.head);
                    match self.next_behind(token, remaining) {
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
    pub(super) fn session_flushed(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        let has_waited = std::mem::take(&mut session.has_waited);
        if has_waited {
            self.set_session_deadline(token);
        } else if session.stage == Stage::Open {
            return;
        }
        let Some(session) = self.connections.session(token) else { return };
        match &mut session.stage {
            Stage::Lingering { .. } if session.has_ended => self.close_session(token, None),
            Stage::Lingering { is_shut, .. } => {
                if !std::mem::replace(is_shut, true) {
                    self.driver.shutdown_send(token);
                }
            }
            Stage::Open => {
                session.push(SocketEvent::Drained);
                self.ready.push_back(token);
            }
            Stage::Closing | Stage::Gone => {}
        }
    }
}
