//! What a deadline means, which depends on what its connection is doing.

use http::StatusCode;
use tayet_net::Token;

use crate::connection::Phase;
use crate::event_loop::Loop;
use crate::problem;
use crate::rate::Pace;
use crate::request_body::BodyError;

impl Loop {
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
}
