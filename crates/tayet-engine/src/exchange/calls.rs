//! Calls of handlers, here or by a worker.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tayet_http1::Head;
use tayet_net::Token;

use super::Progress;
use crate::answer::Asked;
use crate::connection::{AfterSend, Answer, Busy, Phase};
use crate::event_loop::{Due, DuePlace, Loop, Sending};
use crate::interim::InterimPath;
use crate::streaming::Streaming;
use crate::worker::{Call, Job};
use crate::{Match, Request, RequestBody, Response, problem};

impl Loop {
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
}
