//! Every limit and wait of the engine, by the name it has in configuration files and the environment.

use serde::{Deserialize, Serialize};
use tayet_http1::HeadLimits;

use crate::rate::LeastRate;

/// What a peer may cost. Each field is one limit: its unit stands in its name, its default beside it.
///
/// # Examples
///
/// ```
/// use tayet_engine::Limits;
///
/// let limits = Limits { max_body_bytes: 64 * 1024, ..Limits::default() };
/// assert_eq!(limits.head_timeout_ms, 10_000);
/// limits.validate().unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a request's head; past it the answer is 431. Default 16 KiB.
    pub max_head_bytes: usize,
    /// Bytes of a request line; past it the answer is 414. Default 8 KiB.
    pub max_request_line_bytes: usize,
    /// Header fields in a request; past it the answer is 431. Default 100.
    pub max_headers: usize,
    /// Bytes of a body held in memory; past it the answer is 413. Default 2 MiB.
    pub max_body_bytes: usize,
    /// Bytes of a streamed body; 0 for no limit, the default. Past it the answer is 413.
    pub max_stream_bytes: u64,
    /// Bytes of a body that may wait for a handler that reads it as a stream; past it the socket is not read. Of a body with a
    /// known length of which more is still to come, the handler's thread receives the rest itself (with epoll). Default 256 KiB.
    pub stream_buffer_bytes: usize,
    /// A body up to this size is waited for before a plain `&mut Request` handler is called; of a larger one it is
    /// called with what is there and streams the rest. Default 64 KiB.
    pub stream_threshold_bytes: usize,
    /// Bytes that may arrive behind a request that is being answered; past it the socket is not read. Default 64 KiB.
    pub pipeline_buffer_bytes: usize,
    /// How long an answer takes to be made, on its loop, for it to wait for those that the same turn makes next: together they
    /// wake their clients fewer times. They wait a millisecond at most, and the call then under way; none that took 500 µs waits,
    /// so that 500 or more means none for this. Short ones that are made faster wait only while requests are answered that came
    /// with theirs, 16 at most, for 100 µs and the call then under way (four calls, where a quick route has just turned slow), and for
    /// no route that was slower before. Of calls on other threads, those that took less are answered by their loop, together, while it has
    /// nothing else to do; 0 means none. Default 20 µs.
    pub hold_answers_from_us: u64,
    /// Bytes of an answer's head and small bodies that are gathered before they are sent. Default 64 KiB.
    pub coalesce_bytes: usize,
    /// From a request's first byte to the end of its head; past it the answer is 408. Default 10,000 ms.
    pub head_timeout_ms: u64,
    /// Slowest body over a window of [`Limits::receive_rate_window_ms`]; below it the answer is 408. 0 for no limit.
    /// Default 1,024 bytes a second.
    pub min_receive_rate_bytes_per_second: u64,
    /// The window over which the receive rate is taken. Default 5,000 ms.
    pub receive_rate_window_ms: u64,
    /// How long a connection may idle between requests. Default 60,000 ms.
    pub keep_alive_timeout_ms: u64,
    /// How long a peer may take nothing of an answer that waits for it. Default 30,000 ms.
    pub write_stall_timeout_ms: u64,
    /// How long a closing connection is read (and what comes thrown away), so that the last answer reaches the peer.
    /// Default 2,000 ms.
    pub linger_timeout_ms: u64,
    /// Bytes thrown away on a closing connection before it is cut: a client that sends a body of a little more than
    /// `max_body_bytes` in one go is still there to read its 413. Default 4 MiB.
    pub max_linger_bytes: usize,
    /// Bytes of a WebSocket message, inflated and put together; past it the socket is closed with 1009. Default 1 MiB.
    pub max_message_bytes: usize,
    /// Bytes that may wait to be sent on a WebSocket or a stream of events; past it the socket's
    /// [`SendPolicy`](crate::SendPolicy) says what happens. A single message always has room when nothing waits. Default
    /// 1 MiB.
    pub max_send_queue_bytes: usize,
    /// Topics that one socket may be in. Default 100.
    pub max_subscriptions: usize,
    /// How long a WebSocket may be silent before it is pinged. 0 for no pings. Default 30,000 ms.
    pub ping_interval_ms: u64,
    /// How long a pinged WebSocket may stay silent before it is cut. Default 20,000 ms.
    pub pong_timeout_ms: u64,
    /// How long the other end has to answer a close frame before the connection is cut. Default 5,000 ms.
    pub close_timeout_ms: u64,
    /// How often a stream of events carries a comment, so that a client which has gone is noticed. 0 for none. Default
    /// 15,000 ms.
    pub heartbeat_interval_ms: u64,
    /// Open connections; past it accepting pauses. 0 (the default) takes it from `RLIMIT_NOFILE`, less a reserve.
    pub max_connections: usize,
    /// Requests that may wait for a worker; past it the answer is 503 with `Retry-After`. Default 4,096.
    pub queue_capacity: usize,
    /// What `Retry-After` says when the queue is full. Default 1 s.
    pub retry_after_seconds: u32,
    /// How long shutdown waits for requests under way. Default 30,000 ms.
    pub shutdown_deadline_ms: u64,
    /// How long after the call for shutdown requests that were on their way are still taken in; new connections for half as
    /// long. Default 200 ms.
    pub shutdown_grace_ms: u64,
    /// How long an idle worker of the elastic pool is kept. Default 10,000 ms.
    pub worker_idle_timeout_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_head_bytes: 16 * 1024,
            max_request_line_bytes: 8 * 1024,
            max_headers: 100,
            max_body_bytes: 2 * 1024 * 1024,
            max_stream_bytes: 0,
            stream_buffer_bytes: 256 * 1024,
            stream_threshold_bytes: 64 * 1024,
            pipeline_buffer_bytes: 64 * 1024,
            hold_answers_from_us: 20,
            coalesce_bytes: 64 * 1024,
            head_timeout_ms: 10_000,
            min_receive_rate_bytes_per_second: 1_024,
            receive_rate_window_ms: 5_000,
            keep_alive_timeout_ms: 60_000,
            write_stall_timeout_ms: 30_000,
            linger_timeout_ms: 2_000,
            max_linger_bytes: 4 * 1024 * 1024,
            max_message_bytes: 1024 * 1024,
            max_send_queue_bytes: 1024 * 1024,
            max_subscriptions: 100,
            ping_interval_ms: 30_000,
            pong_timeout_ms: 20_000,
            close_timeout_ms: 5_000,
            heartbeat_interval_ms: 15_000,
            max_connections: 0,
            queue_capacity: 4_096,
            retry_after_seconds: 1,
            shutdown_deadline_ms: 30_000,
            shutdown_grace_ms: 200,
            worker_idle_timeout_ms: 10_000,
        }
    }
}

impl Limits {
    /// Checks that the limits can be kept together.
    ///
    /// # Errors
    ///
    /// Names the first field that cannot be, and why.
    pub fn validate(&self) -> Result<(), InvalidLimit> {
        let positive = [
            ("max_head_bytes", self.max_head_bytes as u64),
            ("max_request_line_bytes", self.max_request_line_bytes as u64),
            ("max_headers", self.max_headers as u64),
            ("stream_buffer_bytes", self.stream_buffer_bytes as u64),
            ("pipeline_buffer_bytes", self.pipeline_buffer_bytes as u64),
            ("coalesce_bytes", self.coalesce_bytes as u64),
            ("head_timeout_ms", self.head_timeout_ms),
            ("receive_rate_window_ms", self.receive_rate_window_ms),
            ("keep_alive_timeout_ms", self.keep_alive_timeout_ms),
            ("write_stall_timeout_ms", self.write_stall_timeout_ms),
            ("max_message_bytes", self.max_message_bytes as u64),
            ("max_send_queue_bytes", self.max_send_queue_bytes as u64),
            ("pong_timeout_ms", self.pong_timeout_ms),
            ("close_timeout_ms", self.close_timeout_ms),
            ("queue_capacity", self.queue_capacity as u64),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(InvalidLimit { name, reason: "must be greater than 0" });
        }
        if self.max_head_bytes > 1024 * 1024 {
            return Err(InvalidLimit { name: "max_head_bytes", reason: "must be at most 1 MiB" });
        }
        if self.max_request_line_bytes > self.max_head_bytes {
            return Err(InvalidLimit {
                name: "max_request_line_bytes",
                reason: "must be at most max_head_bytes",
            });
        }
        Ok(())
    }

    pub(crate) fn least_rate(&self) -> LeastRate {
        LeastRate {
            bytes_per_second: self.min_receive_rate_bytes_per_second,
            window_ms: self.receive_rate_window_ms,
        }
    }

    pub(crate) fn head(&self) -> HeadLimits {
        HeadLimits {
            max_head_bytes: self.max_head_bytes,
            max_request_line_bytes: self.max_request_line_bytes,
            max_headers: self.max_headers,
        }
    }
}

/// A limit that cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidLimit {
    /// The field of [`Limits`].
    pub name: &'static str,
    /// What is wrong with its value.
    pub reason: &'static str,
}

impl std::fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.reason)
    }
}

impl std::error::Error for InvalidLimit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Limits::default().validate(), Ok(()));
    }

    #[test]
    fn a_zero_timeout_is_named() {
        let limits = Limits { head_timeout_ms: 0, ..Limits::default() };
        assert_eq!(limits.validate().unwrap_err().name, "head_timeout_ms");
    }

    #[test]
    fn a_request_line_longer_than_its_head_is_named() {
        let limits = Limits { max_request_line_bytes: 64, max_head_bytes: 32, ..Limits::default() };
        assert_eq!(limits.validate().unwrap_err().name, "max_request_line_bytes");
    }
}
