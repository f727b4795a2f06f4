//! How a connection ends: with a refusal, with what is still read of it, or at once.

use http::StatusCode;
use tayet_http1::Head;
use tayet_net::Token;

use super::{Progress, accept_of};
use crate::answer::{Asked, encode};
use crate::connection::{AfterSend, Phase};
use crate::event_loop::{Loop, Sending};
use crate::problem;

impl Loop {
    /// Answers for the peer's fault, and closes.
    pub(crate) fn refuse(&mut self, token: Token, status: StatusCode, detail: &str, accept: Option<&str>) {
        let mut response = problem::response(status, detail, accept);
        let asked = Asked { version: http::Version::HTTP_11, is_head: false, keep_alive: false };
        encode(&mut response, asked, self.date.at(self.now), &mut self.out.head);
        self.shard.requests_refused.add(1);
        let budget_bytes = self.shared.limits.max_linger_bytes;
        let Some(connection) = self.connections.get(token) else { return };
        connection.phase = Phase::Linger { budget_bytes };
        match self.flush(token) {
            Sending::Done => self.finish(token),
            Sending::Pending => self.note_after_send(token, AfterSend::Close),
            Sending::Failed => {}
        }
    }

    pub(super) fn refuse_large(&mut self, token: Token, max_bytes: u64, head: &Head) {
        let detail = format!("the body is larger than {max_bytes} bytes");
        self.refuse(token, StatusCode::PAYLOAD_TOO_LARGE, &detail, accept_of(head).as_deref());
    }

    pub(super) fn refuse_late(&mut self, token: Token, detail: &str) {
        self.shard.connections_timed_out.add(1);
        self.refuse(token, StatusCode::REQUEST_TIMEOUT, detail, None);
    }

    /// The last answer is sent. Closing with unread input would reset the connection and might take the answer with it, so
    /// what still comes is read for a while.
    pub(super) fn finish(&mut self, token: Token) {
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
    #[inline(never)]
    pub(super) fn discard(&mut self, token: Token) -> Progress {
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

    /// Closes a connection whose time is up and to which nothing can be said.
    pub(super) fn cut(&mut self, token: Token) {
        self.shard.connections_timed_out.add(1);
        self.close(token);
    }
}
