//! A session's calls of its handler, on the loop or on a worker, one at a time.

use std::sync::Arc;

use tayet_net::Token;

use super::Stage;
use crate::channel::Channel;
use crate::event_loop::{Current, Due, Loop};
use crate::exchange::Progress;
use crate::socket_event::SocketEvent;
use crate::worker::Job;

impl Loop {
    /// Calls the handler, here or on a worker.
    pub(super) fn begin_event(&mut self, token: Token, event: SocketEvent) -> Progress {
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        session.is_busy = true;
        let route = session.route;
        let channel = Arc::clone(&session.channel);
        let class = &self.shared.routes[route.0 as usize].messages;
        if self.runs_inline(class) {
            class.begins_inline();
            self.set_now_before_call(route);
            self.send_held_before(route);
            self.due = Some(Due::Event { channel, event });
            return Progress::Call;
        }
        let Some(session) = self.connections.session(token) else { return Progress::Done };
        let events = session.batch(event);
        let expected = self.shared.routes[route.0 as usize].messages.expected();
        self.jobs.push(Job::events(channel, events, route, self.now, expected));
        Progress::Again
    }

    /// The current session's handler has been called here.
    pub(super) fn session_handled_here(&mut self, channel: &Channel) {
        let called_at = self.now;
        let Some(session) = self.connections.session(channel.token) else { return self.set_now() };
        session.is_busy = false;
        let route = session.route;
        self.set_now_behind_call(route);
        let took_ns = self.now.ns_since(called_at);
        self.held.note(route, took_ns);
        if let Some(current) = &mut self.current {
            current.took_ns = took_ns;
        }
    }

    /// A session's handler has been called elsewhere.
    pub(super) fn session_handled(&mut self, token: Token, waited_ns: Option<u64>) {
        if let Some(waited_ns) = waited_ns {
            self.shard.queue_wait.record(waited_ns);
        }
        let Some(session) = self.connections.session(token) else { return };
        session.is_busy = false;
        self.take_up_session(token);
    }

    /// A session's handler takes messages again; if it is busy, it goes on when it is done.
    pub(super) fn resume_session(&mut self, token: Token) {
        if self.connections.session(token).is_some_and(|session| session.may_call()) {
            self.take_up_session(token);
        }
    }

    /// Goes on with a session: there is something for its handler, or its input may be looked at again.
    pub(super) fn take_up_session(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        session.channel.set_awaited(false);
        let backlog = session.take_backlog();
        let is_paused = session.is_paused;
        if session.stage != Stage::Gone {
            session.channel.outbox().cork(&mut self.out.head);
        }
        self.current = Some(Current::kept(token, backlog));
        if is_paused {
            self.set_session_receiving(token, true);
        }
    }

    /// Leaves the current connection, if it is a session: keeps what could not be looked at yet, sends what has gathered.
    pub(super) fn leave_session(&mut self, token: Token) -> bool {
        let max_waiting_bytes = self.shared.limits.pipeline_buffer_bytes;
        let Some(session) = self.connections.session(token) else { return false };
        let Some(current) = self.current.take() else { return true };
        if session.stage == Stage::Gone {
            // Its place is free when the handler has been told.
            session.channel.set_awaited(true);
            return true;
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
        self.uncork(token, current.took_ns);
        let Some(session) = self.connections.session(token) else { return true };
        session.release_waiting();
        if session.has_ended && !session.has_backlog() {
            self.session_met_end(token);
        }
        true
    }

    pub(super) fn is_current(&self, token: Token) -> bool {
        self.current.as_ref().is_some_and(|current| current.token == token)
    }
}
