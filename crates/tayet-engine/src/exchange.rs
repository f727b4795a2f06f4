//! The life of a request within its loop: from bytes to a call, from an answer to bytes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tayet_http1::{BodyEvent, Head};
use tayet_net::{Moment, PeerAddress, Token};

use crate::answer::{Asked, Encoded, encode};
use crate::body_plan::{Announced, BodyPlan};
use crate::connection::{AfterSend, Answer, Busy, Gathering, Phase};
use crate::download::Download;
use crate::event_loop::{Current, Due, DuePlace, Input, Loop, Sending};
use crate::interim::InterimPath;
use crate::mailbox::{Outcome, Record};
use crate::peer_handle::PeerHandle;
use crate::proxy_header::ProxyHeader;
use crate::rate::{Pace, RateWindow};
use crate::request_body::BodyError;
use crate::streaming::Streaming;
use crate::worker::{Call, Job, WriteBody};
use crate::{Match, Request, RequestBody, Response, problem};

/// Room that a body which is gathered gets at first; more follows as it comes, so that a length alone costs nothing.
const MAX_INITIAL_BODY_BYTES: u64 = 64 * 1024;

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

    /// The handler of the request in `due` was called here and has answered.
    pub(crate) fn answered(&mut self, due: &mut DuePlace, response: &mut Response) {
        let Some(Due::Request(request)) = &**due else { return };
        let token = request.peer().token;
        let exchange = request.exchange();
        self.set_now();
        let is_deferred = request.is_deferred();
        if request.interims() == InterimPath::BehindAnswers {
            self.out.append(&mut request.take_held_interims());
        }
        if response.body().is_session() && !is_deferred {
            let response = std::mem::take(response);
            let request = due.take().and_then(Due::into_request);
            self.open_session(token, exchange, Answer { response, request });
            return;
        }
        if let Some(Due::Request(request)) = due.take() {
            let (head, peer) = request.into_parts();
            self.recycle(head);
            if let Some(connection) = self.connections.get(token) {
                connection.peer.give_back(peer);
            }
        }
        if !is_deferred && self.respond(token, exchange, response) && self.input_left() == 0 {
            self.leave_current();
        }
    }

    /// An answer that came by the mailbox.
    pub(crate) fn answer(&mut self, token: Token, exchange: u32, answer: Box<Answer>) {
        let Some(connection) = self.connections.get(token) else { return };
        if connection.busy(exchange).is_none() {
            return;
        }
        // Interim responses come before it or not at all.
        connection.peer.claim(exchange);
        if connection.sending.is_some() {
            connection.sending = Some(AfterSend::Answer(answer));
            return;
        }
        if let Some(request) = &answer.request {
            self.out.append(&mut request.take_held_interims());
        }
        if answer.response.body().is_session() {
            self.open_session(token, exchange, *answer);
        } else {
            self.give_answer(token, exchange, *answer);
        }
    }

    /// Sends an answer to a connection that sends nothing else, and goes on with what came meanwhile.
    pub(crate) fn give_answer(&mut self, token: Token, exchange: u32, mut answer: Answer) {
        if self.respond(token, exchange, &mut answer.response) {
            self.take_up(token);
        }
    }

    /// An answer that a worker has sent, or begun to.
    pub(crate) fn exchange_over(
        &mut self,
        token: Token,
        exchange: u32,
        record: Option<Record>,
        outcome: Outcome,
        at: Moment,
    ) {
        let Some(connection) = self.connections.get(token) else { return };
        let Some(busy) = connection.busy(exchange) else { return };
        match record {
            Some(Record::Dispatched { status, waited_ns, took_ns }) => {
                self.shard.answered(busy.route.0, status, took_ns);
                self.shard.queue_wait.record(waited_ns);
            }
            Some(Record::Deferred { status }) => {
                self.shard.answered(busy.route.0, status, at.ns_since(busy.started));
            }
            None => {}
        }
        if !matches!(outcome, Outcome::Parked { .. }) {
            connection.phase = Phase::Head;
        }
        let (keep_alive, sending) = match outcome {
            Outcome::Sent { keep_alive, bytes } => {
                self.shard.sent_bytes.add(bytes);
                (keep_alive, Sending::Done)
            }
            Outcome::Rest(mut unsent) => {
                self.shard.sent_bytes.add(unsent.outgoing.sent as u64);
                (unsent.keep_alive, self.send(token, &mut unsent.outgoing))
            }
            Outcome::Parked { download, bytes } => {
                self.shard.sent_bytes.add(bytes);
                self.park(token, download);
                return;
            }
            Outcome::Broken => {
                self.close(token);
                return;
            }
        };
        let then = if keep_alive { AfterSend::GoOn } else { AfterSend::Close };
        match sending {
            Sending::Done if keep_alive => self.free(token, at),
            Sending::Done => self.finish(token),
            Sending::Pending => self.note_after_send(token, then),
            Sending::Failed => {}
        }
    }

    /// Keeps what is left of a download until its client takes more. The deadline is counted from when it last took something.
    fn park(&mut self, token: Token, download: Box<Download>) {
        let deadline_ms = download.progress_at.as_ms() + self.shared.limits.write_stall_timeout_ms;
        self.driver.await_writable(token);
        self.note_after_send(token, AfterSend::Resume(download));
        self.set_deadline(token, deadline_ms);
    }

    /// A connection has been free since `at`: it idles, or takes up what came meanwhile.
    fn free(&mut self, token: Token, at: Moment) {
        let Some(connection) = self.connections.get(token) else { return };
        if connection.has_nothing_to_read() && self.stop_at_ms.is_none() {
            self.set_deadline(token, at.as_ms() + self.shared.limits.keep_alive_timeout_ms);
        } else {
            self.take_up(token);
        }
    }

    /// A job that found the queue full.
    pub(crate) fn overflow(&mut self, job: Job) {
        let Job::Call(call) = job else { return };
        let Call { request, .. } = *call;
        let (token, exchange) = (request.peer().token, request.exchange());
        let accept = request.header("accept");
        let mut response = problem::response(
            StatusCode::SERVICE_UNAVAILABLE,
            "the server has too much to do just now",
            accept,
        );
        let seconds = HeaderValue::from(self.shared.limits.retry_after_seconds);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
        self.shard.requests_overflowed.add(1);
        drop(request);
        if self.respond(token, exchange, &mut response) {
            self.take_up(token);
        }
    }

    /// What was being sent is sent.
    pub(crate) fn after_send(&mut self, token: Token, then: AfterSend) {
        let Some(connection) = self.connections.get(token) else { return };
        match then {
            AfterSend::GoOn => self.go_on(token),
            AfterSend::Dispatch(call) => {
                self.jobs.push(Job::Call(call));
                self.go_on(token);
            }
            AfterSend::Resume(mut download) => {
                download.queued_at = self.now;
                self.jobs.push(Job::Download(download));
                self.go_on(token);
            }
            AfterSend::Answer(answer) => {
                let exchange = connection.exchange;
                self.answer(token, exchange, answer);
            }
            AfterSend::Close => self.finish(token),
        }
    }

    /// Takes up what was not read while something was being sent, be it the body of the request under way.
    fn go_on(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        if let Phase::Busy(busy) = &mut connection.phase {
            if let Some(stream) = &mut busy.stream {
                stream.rate.restart(self.now_ms);
            }
            self.set_busy_deadline(token);
        }
        self.take_up(token);
    }

    /// A connection's deadline has come: which one it is depends on what the connection is doing.
    pub(crate) fn deadline_passed(&mut self, token: Token) {
        let now_ms = self.now_ms;
        let limits = &self.shared.limits;
        let Some(connection) = self.connections.get(token) else { return };
        if connection.sending.is_some() {
            self.cut(token);
            return;
        }
        match &mut connection.phase {
            Phase::Head if connection.protocol.has_partial_head() => {
                self.refuse_late(token, "the request's head did not come in time");
            }
            Phase::Body(gathering) => match gathering.rate.look(now_ms, limits.least_rate()) {
                Pace::Kept { next_look_ms } => self.set_deadline(token, next_look_ms),
                Pace::TooSlow => self.refuse_late(token, "the request's body came too slowly"),
            },
            Phase::Busy(busy) => {
                if busy.timeout_at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                    self.answer_for_handler(token);
                    return;
                }
                if let Some(stream) = &mut busy.stream
                    && !stream.is_finished
                    && !connection.is_paused
                    && stream.rate.look(now_ms, limits.least_rate()) == Pace::TooSlow
                {
                    stream.is_finished = true;
                    stream.pipe.finish(Err(BodyError::TooSlow));
                }
                self.set_busy_deadline(token);
            }
            Phase::Proxy { .. } => self.cut(token),
            Phase::Head | Phase::Linger { .. } => {
                self.close(token);
            }
        }
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

    fn read_head(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        if current.left() == 0 {
            return Progress::Done;
        }
        let input = current.input.rest(self.driver.received(), current.read);
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let mut head = self.spare_heads.pop().unwrap_or_default();
        let mut rest = input;
        let received = connection.protocol.receive_head(&mut rest, &mut head, &self.head_limits);
        current.read += input.len() - rest.len();
        match received {
            Ok(true) => {
                connection.head_due_ms = 0;
                self.begin_request(token, head)
            }
            Ok(false) => {
                if connection.head_due_ms == 0 && connection.protocol.has_partial_head() {
                    connection.head_due_ms = self.now_ms + self.shared.limits.head_timeout_ms;
                }
                self.spare_heads.push(head);
                Progress::Done
            }
            Err(refusal) => {
                self.spare_heads.push(head);
                self.refuse(token, refusal.status(), refusal.reason(), None);
                Progress::Done
            }
        }
    }

    /// A head is complete: finds its route, and takes its body as that asks.
    fn begin_request(&mut self, token: Token, head: Box<Head>) -> Progress {
        let found = self.shared.service.find(&head);
        let route = &self.shared.routes[found.route.0 as usize];
        let announced = Announced {
            length: head.body_length(),
            awaits_continue: head.expects_continue(),
            at_hand: self.input_left(),
        };
        match BodyPlan::choose(announced, route, &self.shared.limits) {
            BodyPlan::Nothing => self.begin_call(token, head, found, RequestBody::default(), None),
            BodyPlan::Stream => self.begin_stream(token, head, found, &[]),
            BodyPlan::Gather { limit_bytes, may_stream } => {
                let rate = RateWindow::new(self.now_ms);
                let Some(connection) = self.connections.get(token) else { return Progress::Done };
                let room = connection.protocol.body_remaining().unwrap_or(0).min(MAX_INITIAL_BODY_BYTES);
                let body = Vec::with_capacity(room as usize);
                let gathering = Gathering { head, found, body, limit_bytes, may_stream, rate };
                connection.phase = Phase::Body(Box::new(gathering));
                Progress::Again
            }
            BodyPlan::Refuse { max_bytes } => {
                self.refuse_large(token, max_bytes, &head);
                Progress::Done
            }
        }
    }

    fn read_body(&mut self, token: Token) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Body(gathering) = &mut connection.phase else { return Progress::Done };
        let input = current.input.rest(self.driver.received(), current.read);
        let mut rest = input;
        let received = connection.protocol.receive_body(&mut rest);
        current.read += input.len() - rest.len();
        match received {
            Ok(Some(BodyEvent::Data(data))) => {
                gathering.rate.add(data.len());
                gathering.body.extend_from_slice(data);
                if gathering.body.len() <= gathering.limit_bytes {
                    return Progress::Again;
                }
                self.gathered_too_much(token)
            }
            Ok(Some(BodyEvent::End { trailers })) => {
                let Phase::Body(gathering) = std::mem::replace(&mut connection.phase, Phase::Head) else {
                    return Progress::Done;
                };
                let Gathering { head, found, body, .. } = *gathering;
                self.begin_call(token, head, found, RequestBody::whole(body.into(), trailers), None)
            }
            Ok(None) => Progress::Done,
            Err(refusal) => {
                let accept = accept_of(&gathering.head);
                self.refuse(token, refusal.status(), refusal.reason(), accept.as_deref());
                Progress::Done
            }
        }
    }

    /// A body of unknown length has outgrown what is gathered.
    fn gathered_too_much(&mut self, token: Token) -> Progress {
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Body(gathering) = std::mem::replace(&mut connection.phase, Phase::Head) else {
            return Progress::Done;
        };
        let Gathering { head, found, body, limit_bytes, may_stream, .. } = *gathering;
        let max_bytes = match self.shared.limits.max_stream_bytes {
            _ if !may_stream => limit_bytes as u64,
            0 => u64::MAX,
            max_stream_bytes => max_stream_bytes,
        };
        if body.len() as u64 <= max_bytes {
            return self.begin_stream(token, head, found, &body);
        }
        self.refuse_large(token, max_bytes, &head);
        Progress::Done
    }

    /// A request is ready for its handler.
    pub(crate) fn begin_call(
        &mut self,
        token: Token,
        head: Box<Head>,
        found: Match,
        body: RequestBody,
        stream: Option<Box<Streaming>>,
    ) -> Progress {
        let index = found.route.0 as usize;
        let asked = Asked::of(&head, self.stop_at_ms.is_none());
        let route = &self.shared.routes[index];
        let group = route.classes.group(head.path_bytes());
        let class = route.classes.of(group);
        let runs_here = stream.is_none() && self.runs_inline(class);
        if runs_here {
            class.begins_inline();
        }
        let expected = if stream.is_none() { class.expected() } else { None };
        let timeout_at_ms = route.timeout_ms.map(|timeout_ms| self.now_ms + timeout_ms);
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let exchange = connection.next_exchange();
        connection.exchange = exchange;
        let pipe = stream.as_ref().map(|stream| Arc::clone(&stream.pipe));
        let needs_deadline = timeout_at_ms.is_some() || stream.is_some();
        connection.phase =
            Phase::Busy(Busy { asked, route: found.route, group, started: self.now, timeout_at_ms, stream });
        let peer = connection.peer.lend();
        let (max_body_bytes, timeout_ms) = (route.max_body_bytes, route.timeout_ms);
        let (has_bulkhead, takes_turns) = (route.has_bulkhead, route.takes_turns);
        let interims =
            if runs_here && !self.out.is_empty() { InterimPath::BehindAnswers } else { InterimPath::Socket };
        if needs_deadline {
            self.set_busy_deadline(token);
        }
        let request = || Request::new(head, peer, found, exchange, max_body_bytes, body, interims);
        let limit_time = |request: &mut Request| {
            if let Some(timeout_ms) = timeout_ms {
                request.set_time_left(Duration::from_millis(timeout_ms));
            }
        };
        if runs_here {
            // Built in its place, and then looked at: a request that is changed first is built elsewhere and moved.
            if let Due::Request(request) = self.due.insert(Due::Request(request())) {
                limit_time(request);
            }
            return Progress::Call;
        }
        let mut request = request();
        limit_time(&mut request);
        let call = Box::new(Call {
            request,
            asked,
            pipe,
            queued_at: self.now,
            expected,
            timeout_at_ms,
            has_bulkhead,
            takes_turns,
        });
        // A worker writes to the socket itself, so nothing of the loop's may be on its way there.
        match self.flush(token, Bytes::new()) {
            Sending::Done => self.jobs.push(Job::Call(call)),
            Sending::Pending => self.note_after_send(token, AfterSend::Dispatch(call)),
            Sending::Failed => {}
        }
        Progress::Again
    }

    /// Encodes an answer behind what is gathered for the connection. `true` when the connection is free for its next
    /// request; what is gathered is then still to be sent.
    pub(crate) fn respond(&mut self, token: Token, exchange: u32, response: &mut Response) -> bool {
        let Some(connection) = self.connections.get(token) else { return false };
        let Some(busy) = connection.busy(exchange) else { return false };
        let is_body_read = busy.stream.as_ref().is_none_or(|stream| stream.pipe.is_finished());
        let keep_alive = busy.asked.keep_alive && is_body_read && self.stop_at_ms.is_none();
        let asked = Asked { keep_alive, ..busy.asked };
        let took_ns = self.now.ns_since(busy.started);
        busy.timeout_at_ms = None;
        self.shard.answered(busy.route.0, response.status(), took_ns);
        if let Some(current) = &mut self.current {
            current.took_ns = took_ns;
        }
        match encode(response, asked, self.date.at(self.now), &mut self.out) {
            Encoded::Whole { keep_alive: true } if self.out.len() < self.shared.limits.coalesce_bytes => {
                connection.phase = Phase::Head;
                true
            }
            Encoded::Whole { keep_alive } => self.flush_and_free(token, Bytes::new(), keep_alive),
            Encoded::Tail { tail, keep_alive } => self.flush_and_free(token, tail, keep_alive),
            Encoded::Written { write, framing, keep_alive } => {
                let peer = Arc::clone(&connection.peer);
                let head = std::mem::take(&mut self.out);
                let queued_at = self.now;
                let job = WriteBody { peer, exchange, head, write, framing, keep_alive, queued_at };
                self.jobs.push(Job::Write(Box::new(job)));
                false
            }
            Encoded::Parts { parts, keep_alive } => {
                let (peer, head) = (Arc::clone(&connection.peer), std::mem::take(&mut self.out));
                let download = Download::new(peer, exchange, keep_alive, head, parts, self.now);
                self.jobs.push(Job::Download(Box::new(download)));
                false
            }
            Encoded::Session { .. } => unreachable!("sessions are opened, not answered"),
        }
    }

    /// Sends what is gathered, and `tail` behind it. `true` when the connection is free for its next request at once.
    fn flush_and_free(&mut self, token: Token, tail: Bytes, keep_alive: bool) -> bool {
        if let Some(connection) = self.connections.get(token) {
            connection.phase = Phase::Head;
        }
        match self.flush(token, tail) {
            Sending::Done if keep_alive => true,
            Sending::Done => {
                self.finish(token);
                false
            }
            Sending::Pending => {
                self.note_after_send(token, if keep_alive { AfterSend::GoOn } else { AfterSend::Close });
                false
            }
            Sending::Failed => false,
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

    /// Answers for the peer's fault, and closes.
    pub(crate) fn refuse(&mut self, token: Token, status: StatusCode, detail: &str, accept: Option<&str>) {
        let mut response = problem::response(status, detail, accept);
        let asked = Asked { version: http::Version::HTTP_11, is_head: false, keep_alive: false };
        encode(&mut response, asked, self.date.at(self.now), &mut self.out);
        self.shard.requests_refused.add(1);
        let budget_bytes = self.shared.limits.max_linger_bytes;
        let Some(connection) = self.connections.get(token) else { return };
        connection.phase = Phase::Linger { budget_bytes };
        match self.flush(token, Bytes::new()) {
            Sending::Done => self.finish(token),
            Sending::Pending => self.note_after_send(token, AfterSend::Close),
            Sending::Failed => {}
        }
    }

    fn refuse_large(&mut self, token: Token, max_bytes: u64, head: &Head) {
        let detail = format!("the body is larger than {max_bytes} bytes");
        self.refuse(token, StatusCode::PAYLOAD_TOO_LARGE, &detail, accept_of(head).as_deref());
    }

    fn refuse_late(&mut self, token: Token, detail: &str) {
        self.shard.connections_timed_out.add(1);
        self.refuse(token, StatusCode::REQUEST_TIMEOUT, detail, None);
    }

    /// Closes a connection whose time is up and to which nothing can be said.
    fn cut(&mut self, token: Token) {
        self.shard.connections_timed_out.add(1);
        self.close(token);
    }

    /// The last answer is sent. Closing with unread input would reset the connection and might take the answer with it, so
    /// what still comes is read for a while.
    fn finish(&mut self, token: Token) {
        let input_left = self.input_left();
        let limits = &self.shared.limits;
        let Some(connection) = self.connections.get(token) else { return };
        let may_have_unread = matches!(connection.phase, Phase::Linger { .. })
            || connection.protocol.is_receiving_body()
            || !connection.backlog.is_empty()
            || input_left > 0;
        if connection.has_ended || !may_have_unread {
            self.close(token);
            return;
        }
        connection.phase = Phase::Linger { budget_bytes: limits.max_linger_bytes };
        connection.backlog = Vec::new();
        let deadline_ms = self.now_ms + limits.linger_timeout_ms;
        self.driver.shutdown_send(token);
        self.set_receiving(token, true);
        self.set_deadline(token, deadline_ms);
    }

    /// Throws away what comes on a closing connection.
    fn discard(&mut self, token: Token) -> Progress {
        let length = self.input_left();
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Linger { budget_bytes } = &mut connection.phase else { return Progress::Done };
        let Some(left) = budget_bytes.checked_sub(length) else {
            self.close(token);
            return Progress::Done;
        };
        *budget_bytes = left;
        if let Some(current) = &mut self.current {
            current.read += length;
        }
        Progress::Done
    }

    /// The route's time-out: the client gets an answer, and the handler's is let go.
    fn answer_for_handler(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        let exchange = connection.exchange;
        let is_claimed = connection.peer.claim(exchange);
        let Some(busy) = connection.busy(exchange) else { return };
        busy.timeout_at_ms = None;
        if !is_claimed {
            self.set_busy_deadline(token);
            return;
        }
        busy.asked.keep_alive = false;
        let mut response =
            problem::response(StatusCode::SERVICE_UNAVAILABLE, "the handler took too long", None);
        self.respond(token, exchange, &mut response);
    }

    pub(crate) fn set_busy_deadline(&mut self, token: Token) {
        let idle_ms = self.now_ms + self.shared.limits.keep_alive_timeout_ms;
        let Some(connection) = self.connections.get(token) else { return };
        let is_paused = connection.is_paused;
        let Phase::Busy(busy) = &connection.phase else { return };
        let stream = busy.stream.as_ref().filter(|stream| !stream.is_finished && !is_paused);
        let least_rate = self.shared.limits.least_rate();
        let look_ms = stream.map(|stream| stream.rate.next_look_ms(least_rate).max(self.now_ms + 1));
        let deadline_ms = [busy.timeout_at_ms, look_ms].into_iter().flatten().min().unwrap_or(idle_ms);
        self.set_deadline(token, deadline_ms);
    }

    fn read_proxy_header(&mut self, token: Token, local: PeerAddress) -> Progress {
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let input = current.input.rest(self.driver.received(), current.read);
        match ProxyHeader::parse(input) {
            Ok(Some(header)) => {
                current.read += header.length;
                if let Some((source, destination)) = header.addresses {
                    let destination =
                        if local == PeerAddress::Unix { local } else { PeerAddress::Ip(destination) };
                    let peer = connection.peer.behind_proxy(PeerAddress::Ip(source), destination);
                    connection.peer = PeerHandle::new(Arc::new(peer));
                }
                connection.phase = Phase::Head;
                Progress::Again
            }
            // The part that has come is kept, and the next bytes are put behind it.
            Ok(None) => Progress::Done,
            Err(_) => {
                self.shard.requests_refused.add(1);
                self.close(token);
                Progress::Done
            }
        }
    }

    /// How much of the current connection's input is left.
    fn input_left(&self) -> usize {
        self.current.as_ref().map_or(0, Current::left)
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
