//! A request's body within its loop, while its handler reads it.

use std::sync::Arc;

use tayet_http1::BodyEvent;
use tayet_net::Token;

use crate::body_pipe::{BodyPipe, Flow, PipeReader};
use crate::connection::{Busy, Connection, Phase};
use crate::event_loop::Loop;
use crate::exchange::Progress;
use crate::rate::RateWindow;
use crate::{BodyError, Request, RequestBody};

/// A body that its handler reads as it comes.
#[derive(Debug)]
pub(crate) struct Streaming {
    pub(crate) pipe: Arc<BodyPipe>,
    pub(crate) received_bytes: u64,
    pub(crate) rate: RateWindow,
    /// No more of it is taken: it has come whole, or was broken off.
    pub(crate) is_finished: bool,
    /// The handler receives it itself.
    pub(crate) is_lent: bool,
}

impl Drop for Streaming {
    /// Nothing more of it comes; who still reads it learns that.
    fn drop(&mut self) {
        self.pipe.finish(Err(BodyError::Disconnected));
    }
}

impl Loop {
    /// Calls the handler with a body that still arrives; `start` is what has come of it.
    pub(crate) fn begin_stream(&mut self, token: Token, mut request: Box<Request>, start: &[u8]) -> Progress {
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let limits = &self.shared.limits;
        let awaits_continue = request.head().expects_continue() && start.is_empty();
        let expected_bytes = connection.protocol.body_remaining();
        let pipe = Arc::new(BodyPipe::new(limits.stream_buffer_bytes, expected_bytes, awaits_continue));
        if !start.is_empty() {
            pipe.push(start);
        }
        let reader = PipeReader::new(
            Arc::clone(&pipe),
            Arc::clone(&connection.peer),
            connection.next_exchange(),
            limits.least_rate(),
            self.shared.clock.clone(),
        );
        let received_bytes = start.len() as u64;
        let rate = RateWindow::new(self.now_ms);
        let stream = Streaming { pipe, received_bytes, rate, is_finished: false, is_lent: false };
        request.put_body(RequestBody::arriving(reader));
        self.begin_call(token, request, Some(Box::new(stream)))
    }

    /// Takes what has come of it.
    #[inline(never)]
    pub(crate) fn read_stream(&mut self, token: Token) -> Progress {
        let max_bytes = self.shared.limits.max_stream_bytes;
        let Some(current) = &mut self.current else { return Progress::Done };
        let Some(connection) = self.connections.get(token) else { return Progress::Done };
        let Phase::Busy(Busy { stream: Some(stream), .. }) = &mut connection.phase else {
            return Progress::Done;
        };
        match current.read_body(self.driver.received(), &mut connection.protocol) {
            Ok(Some(BodyEvent::Data(data))) => {
                stream.received_bytes += data.len() as u64;
                stream.rate.add(data.len());
                if max_bytes > 0 && stream.received_bytes > max_bytes {
                    stream.is_finished = true;
                    stream.pipe.finish(Err(BodyError::TooLarge { limit_bytes: max_bytes }));
                } else if stream.pipe.push(data) != Flow::Open {
                    // Full: the handler asks for more. Abandoned: nobody does, and its answer ends the connection.
                    self.set_receiving(token, false);
                }
                Progress::Again
            }
            Ok(Some(BodyEvent::End { trailers })) => {
                stream.is_finished = true;
                stream.pipe.finish(Ok(trailers));
                Progress::Again
            }
            Ok(None) => {
                self.lend_body(token);
                Progress::Done
            }
            Err(refusal) => {
                stream.is_finished = true;
                stream.pipe.finish(Err(BodyError::Malformed(refusal)));
                Progress::Done
            }
        }
    }

    /// Has the handler receive the rest of its body itself, if that is more than the pipe would hold.
    fn lend_body(&mut self, token: Token) {
        let capacity_bytes = self.shared.limits.stream_buffer_bytes as u64;
        let Some(connection) = self.connections.get(token) else { return };
        let is_large = connection.protocol.body_remaining().is_some_and(|left| left > capacity_bytes);
        let has_ended = connection.has_ended;
        let Some(stream) = connection.stream() else { return };
        let may_be_lent = is_large && !has_ended && !stream.is_lent;
        if !may_be_lent || !self.driver.lend_receiving(token) {
            return;
        }
        stream.is_lent = true;
        stream.pipe.lend();
        connection.is_paused = true;
        self.set_busy_deadline(token);
    }

    /// A handler has room for more of its body.
    pub(crate) fn body_wanted(&mut self, token: Token) {
        let stream = self.connections.get(token).and_then(Connection::stream);
        if stream.is_some_and(|stream| !stream.is_lent) {
            self.set_receiving(token, true);
        }
    }

    /// A handler has received as much as it wants of its body itself.
    pub(crate) fn body_returned(&mut self, token: Token, exchange: u32, bytes: u64) {
        self.shard.received_bytes.add(bytes);
        let Some(connection) = self.connections.get(token) else { return };
        if connection.busy(exchange).is_none() {
            return;
        }
        connection.protocol.skip_body(bytes);
        let is_finished = !connection.protocol.is_receiving_body();
        let Some(stream) = connection.stream() else { return };
        stream.is_lent = false;
        stream.received_bytes += bytes;
        stream.is_finished = is_finished;
        if is_finished {
            self.set_receiving(token, true);
        }
    }
}
