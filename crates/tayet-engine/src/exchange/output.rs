//! Answers, and what follows when they are sent.

use std::sync::Arc;

use tayet_net::{Moment, Outgoing, Token};

use crate::answer::{Asked, Encoded, encode};
use crate::body::Kind;
use crate::connection::{AfterSend, Answer, Phase};
use crate::download::Download;
use crate::event_loop::{Loop, Sending};
use crate::peer::Peer;
use crate::report::{Outcome, Record, Report};
use crate::worker::{Job, WriteBody};
use crate::{Request, Response};

impl Loop {
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
            self.out.head.append(&mut request.take_held_interims());
        }
        if answer.response.body().is_session() {
            self.begin_session(token, exchange, *answer);
        } else {
            self.give_answer(token, exchange, *answer);
        }
    }

    /// An answer begins a session, and brings along who does the work of all of them.
    pub(crate) fn begin_session(&mut self, token: Token, exchange: u32, answer: Answer) {
        if let Kind::Session(opening) = &answer.response.body().0 {
            let sessions = *self.shared.session_work.get_or_init(|| opening.work);
            sessions.open(self, token, exchange, answer);
        }
    }

    /// Sends an answer to a connection that sends nothing else, and goes on with what came meanwhile.
    pub(crate) fn give_answer(&mut self, token: Token, exchange: u32, mut answer: Answer) {
        if self.respond(token, exchange, &mut answer.response) {
            self.take_up(token);
        }
    }

    /// An answer has been made elsewhere, and sent or begun to be.
    pub(crate) fn exchange_over(&mut self, mut report: Report) {
        let mut request = report.request.take();
        self.end_exchange(report, request.as_deref_mut().map(Request::answer_mut));
        if let Some(request) = request {
            self.spare_requests.keep(request);
        }
    }

    /// The same; `made` is where an answer lies that is to be sent here.
    fn end_exchange(&mut self, report: Report, made: Option<&mut Vec<u8>>) {
        let Report { token, peer, exchange, record, outcome, at, .. } = report;
        let Some(connection) = self.connections.get(token) else { return };
        connection.peer.give_back(peer);
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
            Outcome::Made => {
                let answer = made.expect("it lies in the request that comes with it");
                if connection.has_nothing_to_read() && self.stop_at_ms.is_none() {
                    connection.held_batch = self.held.take_made(token, answer, self.now);
                    self.set_deadline(token, at.as_ms() + self.shared.limits.keep_alive_timeout_ms);
                    self.send_held_if_enough();
                    return;
                }
                let mut outgoing = Outgoing { head: std::mem::take(answer), ..Outgoing::default() };
                (true, self.send(token, &mut outgoing))
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

    /// What was being sent is sent.
    pub(crate) fn after_send(&mut self, token: Token, then: AfterSend) {
        let Some(connection) = self.connections.get(token) else { return };
        match then {
            AfterSend::GoOn => self.go_on(token),
            AfterSend::Dispatch(call) => {
                self.jobs.push(Job::Call(*call));
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

    /// Encodes an answer behind what is gathered for the connection. `true` when the connection is free for its next
    /// request; what is gathered is then still to be sent.
    #[inline(never)]
    pub(crate) fn respond(&mut self, token: Token, exchange: u32, response: &mut Response) -> bool {
        self.respond_and_take_back(token, exchange, response, None)
    }

    /// The same for a request that has just had its call here, and gives back its handle to the peer.
    // Inlined always: it is on the way of most requests, and is called for them in one place.
    #[inline(always)]
    pub(super) fn respond_and_take_back(
        &mut self,
        token: Token,
        exchange: u32,
        response: &mut Response,
        handle: Option<Arc<Peer>>,
    ) -> bool {
        let Some(connection) = self.connections.get(token) else { return false };
        if let Some(handle) = handle {
            connection.peer.give_back(handle);
        }
        let Some(busy) = connection.busy(exchange) else { return false };
        let is_body_read = busy.stream.as_ref().is_none_or(|stream| stream.pipe.is_finished());
        let keep_alive = busy.asked.keep_alive && is_body_read && self.stop_at_ms.is_none();
        let asked = Asked { keep_alive, ..busy.asked };
        let took_ns = self.now.ns_since(busy.started);
        busy.timeout_at_ms = None;
        self.shard.answered(busy.route.0, response.status(), took_ns);
        if let Some(current) = &mut self.current {
            current.took_ns = took_ns;
            self.held.note(busy.route, took_ns);
        }
        match encode(response, asked, self.date.at(self.now), &mut self.out.head) {
            Encoded::Whole { keep_alive: true }
                if self.out.head.len() < self.shared.limits.coalesce_bytes =>
            {
                connection.phase.end();
                true
            }
            Encoded::Whole { keep_alive } => self.flush_and_free(token, keep_alive),
            Encoded::Tail { tail, keep_alive } => {
                self.out.tail = tail;
                self.flush_and_free(token, keep_alive)
            }
            Encoded::Written { write, framing, keep_alive } => {
                let peer = Arc::clone(&connection.peer);
                let head = std::mem::take(&mut self.out.head);
                let queued_at = self.now;
                let job = WriteBody { peer, exchange, head, write, framing, keep_alive, queued_at };
                self.jobs.push(Job::Write(Box::new(job)));
                false
            }
            Encoded::Parts { parts, keep_alive } => {
                let (peer, head) = (Arc::clone(&connection.peer), std::mem::take(&mut self.out.head));
                let download = Download::new(peer, exchange, keep_alive, head, parts, self.now);
                self.jobs.push(Job::Download(Box::new(download)));
                false
            }
            Encoded::Session { .. } => unreachable!("sessions are opened, not answered"),
        }
    }

    /// Sends what is gathered. `true` when the connection is free for its next request at once.
    #[inline(never)]
    fn flush_and_free(&mut self, token: Token, keep_alive: bool) -> bool {
        if let Some(connection) = self.connections.get(token) {
            connection.phase = Phase::Head;
        }
        match self.flush(token) {
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
}
