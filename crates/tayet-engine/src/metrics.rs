//! Figures of the engine, counted where they arise and read as a snapshot.

use std::time::Duration;

/// Figures at one moment. Counters count from the start.
#[derive(Clone, Debug, Default)]
pub struct MetricsSnapshot {
    /// By route, in the order of [`Service::routes`](crate::Service::routes).
    pub routes: Vec<RouteMetrics>,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Connections that each loop has now.
    pub connections_by_loop: Vec<u64>,
    /// Connections idle or in the middle of a request that were cut for one of the limits' time-outs.
    pub connections_timed_out: u64,
    /// Accepts that failed.
    pub accept_errors: u64,
    /// Requests refused before they had a route (malformed and so on).
    pub requests_refused: u64,
    /// Requests answered 503 since the queue was full.
    pub requests_overflowed: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// WebSockets and streams of events that are open now.
    pub sessions_open: u64,
    /// WebSockets and streams of events that were opened.
    pub sessions_opened: u64,
    /// WebSockets whose peer broke the protocol.
    pub sessions_failed: u64,
    /// Messages received on WebSockets.
    pub messages_received: u64,
    /// Messages, control frames and events sent.
    pub messages_sent: u64,
    /// Messages dropped since their socket's send queue was full.
    pub messages_dropped: u64,
    /// Topics that have members or something kept.
    pub topics: u64,
    /// Loops that were taken from a handler that overran.
    pub takeovers: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Threads of the pool, the loops' included.
    pub threads: u64,
    /// Threads that run a handler now (those on their loop not counted).
    pub threads_busy: u64,
    /// Requests that wait for a worker now.
    pub queue_length: u64,
    /// How long dispatched requests waited for their worker.
    pub queue_wait: Histogram,
}

/// Figures of one route.
#[derive(Clone, Debug, Default)]
pub struct RouteMetrics {
    /// As in [`Route::label`](crate::Route::label).
    pub label: String,
    /// Answers by status, those that occurred.
    pub statuses: Vec<(u16, u64)>,
    /// From the request being there to its answer being ready.
    pub duration: Histogram,
    /// Whether the calls of its WebSocket handler are dispatched to the pool now.
    pub are_messages_dispatched: bool,
    /// Whether its calls are dispatched to the pool now, by learning or by its pin.
    pub is_dispatched: bool,
    /// How often it lost its loop.
    pub takeovers: u64,
}

/// Durations, counted in buckets. Of requests that came together, up to some 5 µs may be counted to the next one; and where those of a
/// route took less than 4 µs before, what up to three took to the next of the same route.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// How many fell into each bucket; the last one is for all above the last bound.
    pub counts: Vec<u64>,
    /// All together.
    pub sum: Duration,
}

impl Histogram {
    /// Upper bounds of the buckets, in nanoseconds: 10 us to 10 s, in steps of 1, 2.5, 5.
    pub const BOUNDS_NS: [u64; 19] = [
        10_000,
        25_000,
        50_000,
        100_000,
        250_000,
        500_000,
        1_000_000,
        2_500_000,
        5_000_000,
        10_000_000,
        25_000_000,
        50_000_000,
        100_000_000,
        250_000_000,
        500_000_000,
        1_000_000_000,
        2_500_000_000,
        5_000_000_000,
        10_000_000_000,
    ];
}
