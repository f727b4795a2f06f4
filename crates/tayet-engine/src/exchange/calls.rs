//! Calls of handlers, here or by a worker.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use tayet_net::Token;

use super::Progress;
use crate::answer::Asked;
use crate::connection::{AfterSend, Answer, Busy, Connection, Phase};
use crate::event_loop::{Due, Loop, Sending};
use crate::interim::InterimPath;
use crate::streaming::Streaming;
use crate::worker::{Call, Job};
use crate::{Request, Response, RouteId, problem};

impl Loop {
    /// A request is ready for its handler.
    // Inlined always, since most of it knows already what whoever calls it has just found out.
    #[inline(always)]
    pub(crate) fn begin_call(
        &mut self,
        token: Token,
        mut request: Box<Request>,
        stream: Option<Box<Streaming>>,
    ) -> Progress {
        let id = request.route();
        self.set_now_before_call(id);
        let route = &self.shared.routes[id.0 as usize];
        let group = route.classes.group(|| request.path().as_bytes());
        let class = route.classes.of(group);
        let runs_here = stream.is_none() && self.runs_inline(class);
        if runs_here {
            class.begins_inline();
        }
        let (timeout_ms, max_body_bytes) = (route.timeout_ms, route.max_body_bytes);
        let timeout_at_ms = timeout_ms.map(|timeout_ms| self.now_ms + timeout_ms);
        let asked = Asked::of(request.head(), self.stop_at_ms.is_none());
        let is_behind_answers = runs_here && !self.out.head.is_empty();
        let interims = if is_behind_answers { InterimPath::BehindAnswers } else { InterimPath::Socket };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let exchange = connection.next_exchange();
        connection.exchange = exchange;
        let busy = Busy { asked, route: id, group, started: self.now, timeout_at_ms, stream };
        connection.phase.begin(busy);
        request.begin(connection.peer.lend(), exchange, max_body_bytes, interims);
        if let Some(timeout_ms) = timeout_ms {
            request.set_time_left(Duration::from_millis(timeout_ms));
            self.set_busy_deadline(token);
        }
        if !runs_here {
            return self.hand_over(token, request);
        }
        self.send_held_before(id);
        // What was due before has been taken: there is nothing to be dropped, and that need not be found out.
        let before = self.due.replace(Due::Request(request));
        debug_assert!(before.is_none(), "two calls at once");
        std::mem::forget(before);
        Progress::Call
    }

    /// Gives a request to a worker, behind what is gathered for its connection.
    #[inline(never)]
    fn hand_over(&mut self, token: Token, request: Box<Request>) -> Progress {
        let route = &self.shared.routes[request.route().0 as usize];
        let Some(Connection { phase: Phase::Busy(busy), .. }) = self.connections.get(token) else {
            return Progress::Done;
        };
        let (asked, timeout_at_ms) = (busy.asked, busy.timeout_at_ms);
        let pipe = busy.stream.as_ref().map(|stream| Arc::clone(&stream.pipe));
        let call = Call {
            request,
            asked,
            queued_at: self.now,
            // What a body still brings is no part of what its handler takes.
            expected: if pipe.is_none() { route.classes.of(busy.group).expected() } else { None },
            timeout_at_ms,
            has_bulkhead: route.has_bulkhead,
            takes_turns: route.takes_turns,
            pipe,
        };
        if call.pipe.is_some() {
            self.set_busy_deadline(token);
        }
        // A worker writes to the socket itself, so nothing of the loop's may be on its way there.
        match self.flush(token) {
            Sending::Done => self.jobs.push(Job::Call(call)),
            Sending::Pending => self.note_after_send(token, AfterSend::Dispatch(Box::new(call))),
            Sending::Failed => {}
        }
        Progress::Again
    }

    /// The handler of the current connection's request was called here and has answered.
    pub(crate) fn answered(&mut self, mut request: Box<Request>, response: &mut Response) {
        let Some(token) = self.current.as_ref().map(|current| current.token) else { return };
        let exchange = request.exchange();
        self.set_now_behind_call(request.route());
        let is_deferred = request.is_deferred();
        if request.interims() == InterimPath::BehindAnswers {
            self.out.head.append(&mut request.take_held_interims());
        }
        if response.body().is_session() && !is_deferred {
            let response = std::mem::take(response);
            self.begin_session(token, exchange, Answer { response, request: Some(request) });
            return;
        }
        let handle = request.retire();
        self.spare_requests.keep(request);
        if !is_deferred
            && self.respond_and_take_back(token, exchange, response, handle)
            && self.input_left() == 0
        {
            self.leave_current();
        }
    }

    /// Reads the clock before a call if others have gone by unclocked, so that it is not charged with what they took.
    #[inline]
    pub(crate) fn set_now_before_call(&mut self, route: RouteId) {
        if self.call_clock.is_due_before(route) {
            self.clock_what_went_by();
        }
    }

    /// Reads the clock behind a call, if it is time to. Between requests that came together it need not be exact: what one seems to
    /// have taken less, the next one seems to have taken more, and behind the last of them it is.
    #[inline]
    pub(crate) fn set_now_behind_call(&mut self, route: RouteId) {
        let is_last = self.input_left() == 0 && !self.held.is_followed;
        if !is_last && !self.call_clock.is_due_behind(route) {
            return;
        }
        let now = if is_last { self.driver.now() } else { self.driver.now_roughly() };
        self.call_clock.clocked(route, self.now, now);
        self.go_on_at(now);
    }

    #[inline(never)]
    fn clock_what_went_by(&mut self) {
        let now = self.driver.now_roughly();
        self.call_clock.clock_others(self.now, now);
        self.go_on_at(now);
    }

    /// A job that found the queue full.
    pub(crate) fn overflow(&mut self, job: Job) {
        let Job::Call(call) = job else { return };
        let request = call.request;
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
