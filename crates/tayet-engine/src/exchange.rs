//! The life of a request within its loop: from bytes to a call, from an answer to bytes.
//!
//! What few requests need stands in functions that are never inlined: the way of all the others is then short, and what of the
//! processor's caches it takes is little.

mod calls;
mod deadlines;
mod end;
mod input;
mod output;

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
            if let Some(sessions) = self.shared.session_work() {
                sessions.begin_input(self, token, length);
            }
            return;
        };
        if connection.backlog.is_empty() {
            self.current = Some(Current::received(token, length));
        } else {
            self.add_to_backlog(token);
        }
    }

    /// Bytes came behind others that wait.
    #[inline(never)]
    fn add_to_backlog(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        connection.backlog.extend_from_slice(self.driver.received());
        if matches!(connection.phase, Phase::Proxy { .. }) {
            self.take_up(token);
        } else {
            self.keep_backlog_bounded(token);
        }
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
        // Asked for first, since what the driver does is not seen through: the connection would have to be looked for again.
        let received = self.driver.received();
        let Some(connection) = self.connections.get(token) else { return self.read_no_request(token) };
        if connection.sending.is_some() {
            return Progress::Done;
        }
        let Phase::Head = connection.phase else { return self.read_on(token) };
        let Some(current) = &mut self.current else { return Progress::Done };
        if current.left() == 0 {
            return Progress::Done;
        }
        let mut request = self.spare_requests.take();
        let input = current.input.rest(received, current.read);
        let mut rest = input;
        let outcome = connection.protocol.receive_head(&mut rest, request.head_mut(), &self.head_limits);
        current.read += input.len() - rest.len();
        if outcome != Ok(true) {
            return self.read_no_head(token, request, outcome);
        }
        connection.head_due_ms = 0;
        self.begin_request(token, request)
    }

    /// Reads what is no head.
    #[inline(never)]
    fn read_on(&mut self, token: Token) -> Progress {
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        match &mut connection.phase {
            Phase::Head => Progress::Again,
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

    /// Reads for a session, or for nobody any more.
    #[inline(never)]
    fn read_no_request(&mut self, token: Token) -> Progress {
        let progress = self.shared.session_work().and_then(|sessions| sessions.read(self, token));
        progress.unwrap_or_else(|| {
            self.current = None;
            Progress::Done
        })
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

    /// Leaves the current connection: keeps what could not be read yet, sends what is gathered or holds it, sets the deadline.
    pub(crate) fn leave_current(&mut self) {
        let Some(current) = &self.current else { return };
        let (token, took_ns, is_read) = (current.token, current.took_ns, current.left() == 0);
        let Some(connection) = self.connections.get(token) else { return self.leave_other(token) };
        let rests = is_read && connection.is_idle() && !connection.has_ended && self.stop_at_ms.is_none();
        if !rests {
            return self.leave_in_the_middle(token);
        }
        self.current = None;
        let deadline_ms = self.now_ms + self.shared.limits.keep_alive_timeout_ms;
        connection.timing.set(token, deadline_ms, &mut self.timers);
        if let Some(batch) = self.held.take(token, &mut self.out.head, took_ns, self.now) {
            connection.held_batch = batch;
            self.send_held_if_enough();
        } else {
            self.flush(token);
        }
    }

    /// Keeps what is left of a connection's input.
    #[inline(never)]
    fn keep_rest(&mut self) {
        let Some(current) = self.current.take() else { return };
        let Some(connection) = self.connections.get(current.token) else { return };
        if current.left() == 0 || matches!(connection.phase, Phase::Linger { .. }) {
            return;
        }
        match current.input {
            Input::Received => connection.backlog.extend_from_slice(&self.driver.received()[current.read..]),
            Input::Kept(mut bytes) => {
                bytes.drain(..current.read);
                connection.backlog = bytes;
            }
        }
    }

    /// Leaves a session, or a connection that has gone.
    #[inline(never)]
    fn leave_other(&mut self, token: Token) {
        if !self.shared.session_work().is_some_and(|sessions| sessions.leave(self, token)) {
            self.current = None;
            self.clear_out();
        }
    }

    /// Leaves a connection that does not merely wait for its next request, and sees to it that it is looked at in time.
    #[inline(never)]
    fn leave_in_the_middle(&mut self, token: Token) {
        self.keep_rest();
        if self.flush(token) == Sending::Failed {
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
