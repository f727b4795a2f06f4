//! How a session ends: by a goodbye, a deadline, or at once.

use std::sync::Arc;

use tayet_net::Token;
use tayet_websocket::{CloseCode, CloseFrame};

use super::Stage;
use crate::event_loop::Loop;
use crate::{Closed, WebSocketError};

impl Loop {
    /// Somebody has said goodbye on it.
    pub(super) fn session_closing(&mut self, token: Token) {
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
    pub(super) fn dismiss_session(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        let channel = Arc::clone(&session.channel);
        channel.say_goodbye(Some(&CloseFrame::new(CloseCode::GOING_AWAY, "the server is shutting down")));
        self.session_closing(token);
    }

    /// A session's deadline has come.
    pub(super) fn session_deadline_passed(&mut self, token: Token) {
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
    pub(super) fn close_session(&mut self, token: Token, error: Option<WebSocketError>) {
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

    /// Everything is said: the connection closes as soon as the peer has taken it.
    pub(super) fn linger(&mut self, token: Token) {
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

    /// Says when to look at a session if nothing happens: whether its peer is alive, or has had its time to end.
    pub(super) fn set_session_deadline(&mut self, token: Token) {
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
}
