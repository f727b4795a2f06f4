//! The life of a request within its loop: from bytes to a call, from an answer to bytes.

mod calls;
mod deadlines;
mod end;
mod input;
mod output;

use bytes::Bytes;
use tayet_http1::{self as http1, BodyEvent, Head, Refusal};
use tayet_net::Token;

use crate::connection::{Busy, Phase};
use crate::event_loop::{Current, Input, Loop, Sending};

/// What a look at the current connection's input leads to.
pub(crate) enum Progress {
    /// There may be more to read.
    Again,
    /// Its handler is to be called here.
    Call,
    /// All that can be read now has been.
    Done,
}

impl Loop {
    /// Bytes came for a connection; [`Loop::advance`] reads them.
    pub(crate) fn begin_input(&mut self, token: Token, length: usize) {
        self.send_held_of(token);
        let Some(connection) = self.connections.get(token) else {
            self.begin_session_input(token, length);
            return;
        };
        if !connection.backlog.is_empty() {
            connection.backlog.extend_from_slice(self.driver.received());
            if matches!(connection.phase, Phase::Proxy { .. }) {
                self.take_up(token);
            } else {
                self.keep_backlog_bounded(token);
            }
            return;
        }
        self.current = Some(Current::received(token, length));
    }

    /// Reads the current connection's input until it is read, or a handler is to be called here: then it is `true`.
    pub(crate) fn advance(&mut self) -> bool {
        while let Some(Current { token, .. }) = self.current {
            match self.read_input(token) {
                Progress::Again => {}
                Progress::Call => return true,
                Progress::Done => self.leave_current(),
            }
        }
        false
    }

    fn read_input(&mut self, token: Token) -> Progress {
        let Some(connection) = self.connections.get(token) else {
            if self.connections.session(token).is_some() {
                return self.read_session(token);
            }
            self.current = None;
            return Progress::Done;
        };
        if connection.sending.is_some() {
            return Progress::Done;
        }
        match &mut connection.phase {
            Phase::Head => self.read_head(token),
            Phase::Body(_) => self.read_body(token),
            Phase::Busy(Busy { stream: Some(stream), .. }) if !stream.is_finished => self.read_stream(token),
            Phase::Busy(_) => Progress::Done,
            Phase::Linger { .. } => self.discard(token),
            Phase::Proxy { local } => {
                let local = *local;
                self.read_proxy_header(token, local)
            }
        }
    }

    /// The connection is free: takes up what came meanwhile.
    fn take_up(&mut self, token: Token) {
        // Past the grace of draining, whoever has the connection is to report at once.
        let is_awaited = self.is_past_grace();
        let Some(connection) = self.connections.get(token) else { return };
        connection.peer.set_awaited(is_awaited);
        let backlog = std::mem::take(&mut connection.backlog);
        let is_paused = connection.is_paused && !connection.stream().is_some_and(|stream| stream.is_lent);
        self.current = Some(Current::kept(token, backlog));
        if is_paused {
            self.set_receiving(token, true);
        }
    }

    /// Leaves the current connection: keeps what could not be read yet, sends what is gathered, sets the deadline.
    pub(crate) fn leave_current(&mut self) {
        let Some(current) = self.current.take() else { return };
        let (token, left, took_ns) = (current.token, current.left(), current.took_ns);
        let Some(connection) = self.connections.get(token) else {
            if self.connections.session(token).is_some() {
                self.leave_session(current);
            } else {
                self.out.clear();
            }
            return;
        };
        if left > 0 && !matches!(connection.phase, Phase::Linger { .. }) {
            let read = current.read;
            match current.input {
                Input::Received => connection.backlog.extend_from_slice(&self.driver.received()[read..]),
                Input::Kept(mut bytes) => {
                    bytes.drain(..read);
                    connection.backlog = bytes;
                }
            }
        }
        if !self.hold(token, took_ns) && self.flush(token, Bytes::new()) == Sending::Failed {
            return;
        }
        self.keep_backlog_bounded(token);
        let is_past_grace = self.is_past_grace();
        let Some(connection) = self.connections.get(token) else { return };
        if connection.sending.is_some() {
            return;
        }
        if connection.has_ended && connection.backlog.is_empty() {
            self.meet_end(token);
            return;
        }
        if is_past_grace && connection.is_idle() {
            self.close(token);
            return;
        }
        let limits = &self.shared.limits;
        let deadline_ms = match &connection.phase {
            Phase::Head if connection.protocol.has_partial_head() => connection.head_due_ms,
            Phase::Head => self.now_ms + limits.keep_alive_timeout_ms,
            Phase::Body(gathering) => gathering.rate.next_look_ms(limits.least_rate()),
            Phase::Proxy { .. } | Phase::Busy(_) | Phase::Linger { .. } => return,
        };
        self.set_deadline(token, deadline_ms);
    }

    /// Stops receiving when too much waits behind a request; has the worker that answers it say so at once.
    fn keep_backlog_bounded(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        // What there is of a PROXY header has a bound of its own, and more must come.
        if connection.backlog.is_empty() || matches!(connection.phase, Phase::Proxy { .. }) {
            return;
        }
        connection.peer.set_awaited(true);
        if connection.backlog.len() >= self.shared.limits.pipeline_buffer_bytes {
            self.set_receiving(token, false);
        }
    }

    /// How much of the current connection's input is left.
    fn input_left(&self) -> usize {
        self.current.as_ref().map_or(0, Current::left)
    }
}

impl Current {
    /// Reads what is next of a body.
    pub(crate) fn read_body<'a>(
        &'a mut self,
        received: &'a [u8],
        protocol: &mut http1::Connection,
    ) -> Result<Option<BodyEvent<'a>>, Refusal> {
        let input = self.input.rest(received, self.read);
        let mut rest = input;
        let event = protocol.receive_body(&mut rest);
        self.read += input.len() - rest.len();
        event
    }
}

impl Input {
    pub(crate) fn rest<'a>(&'a self, received: &'a [u8], read: usize) -> &'a [u8] {
        match self {
            Self::Received => &received[read..],
            Self::Kept(bytes) => &bytes[read..],
        }
    }
}

fn accept_of(head: &Head) -> Option<String> {
    head.get("accept").and_then(|value| std::str::from_utf8(value).ok()).map(str::to_owned)
}
