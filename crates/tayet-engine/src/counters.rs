//! Where the figures are counted: a shard a loop, written by its holder alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;

#[cfg(all(test, not(loom)))]
use crate::span::Span;
use crate::sync::{Mutex, lock};
use crate::{Histogram, MetricsSnapshot, RouteMetrics};

/// A counter that one thread at a time writes and any may read: adding is a plain load and store.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(count), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The figures of one loop. Apart from whatever else other threads write.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard {
    routes: Box<[RouteCounters]>,
    pub(crate) connections_accepted: Counter,
    pub(crate) connections_open: Counter,
    pub(crate) connections_timed_out: Counter,
    pub(crate) accept_errors: Counter,
    pub(crate) requests_refused: Counter,
    pub(crate) requests_overflowed: Counter,
    pub(crate) received_bytes: Counter,
    pub(crate) sent_bytes: Counter,
    pub(crate) queue_wait: HistogramCounters,
    pub(crate) sessions_open: Counter,
    pub(crate) sessions_opened: Counter,
    pub(crate) sessions_failed: Counter,
    pub(crate) messages_received: Counter,
}

/// Those of the loops lie side by side in memory, and so have lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct RouteCounters {
    statuses: [Counter; COMMON_STATUSES.len()],
    rare_statuses: Mutex<BTreeMap<u16, u64>>,
    duration: HistogramCounters,
}

/// Statuses counted without a lock, 200 first; others are rare.
const COMMON_STATUSES: [u16; 24] = [
    200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429,
    500, 502, 503,
];
const _: () = assert!(COMMON_STATUSES[0] == 200, "`Shard::answered` does not look for it");

impl Shard {
    pub(crate) fn new(routes: usize) -> Self {
        Self {
            routes: (0..routes).map(|_| RouteCounters::new()).collect(),
            connections_accepted: Counter::default(),
            connections_open: Counter::default(),
            connections_timed_out: Counter::default(),
            accept_errors: Counter::default(),
            requests_refused: Counter::default(),
            requests_overflowed: Counter::default(),
            received_bytes: Counter::default(),
            sent_bytes: Counter::default(),
            queue_wait: HistogramCounters::default(),
            sessions_open: Counter::default(),
            sessions_opened: Counter::default(),
            sessions_failed: Counter::default(),
            messages_received: Counter::default(),
        }
    }

    /// Where it is written.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn spans(&self) -> [Span; 2] {
        [Span::of(self), Span::of(&*self.routes)]
    }

    /// A request of route `route` has its answer.
    #[inline]
    pub(crate) fn answered(&self, route: u32, status: StatusCode, took_ns: u64) {
        let Some(counters) = self.routes.get(route as usize) else { return };
        if status == StatusCode::OK {
            counters.statuses[0].add(1);
        } else {
            counters.count_status(status);
        }
        counters.duration.record(took_ns);
    }

    /// Adds this shard's figures to a snapshot whose routes are laid out already.
    pub(crate) fn add_to(&self, snapshot: &mut MetricsSnapshot) {
        snapshot.connections_accepted += self.connections_accepted.get();
        snapshot.connections_open += self.connections_open.get();
        snapshot.connections_by_loop.push(self.connections_open.get());
        snapshot.connections_timed_out += self.connections_timed_out.get();
        snapshot.accept_errors += self.accept_errors.get();
        snapshot.requests_refused += self.requests_refused.get();
        snapshot.requests_overflowed += self.requests_overflowed.get();
        snapshot.received_bytes += self.received_bytes.get();
        snapshot.sent_bytes += self.sent_bytes.get();
        snapshot.sessions_open += self.sessions_open.get();
        snapshot.sessions_opened += self.sessions_opened.get();
        snapshot.sessions_failed += self.sessions_failed.get();
        snapshot.messages_received += self.messages_received.get();
        self.queue_wait.add_to(&mut snapshot.queue_wait);
        for (route, counters) in snapshot.routes.iter_mut().zip(&self.routes) {
            counters.add_to(route);
        }
    }
}

impl RouteCounters {
    fn new() -> Self {
        Self {
            statuses: Default::default(),
            rare_statuses: Mutex::new(BTreeMap::new()),
            duration: HistogramCounters::default(),
        }
    }

    #[inline(never)]
    fn count_status(&self, status: StatusCode) {
        match COMMON_STATUSES.iter().position(|&common| common == status.as_u16()) {
            Some(at) => self.statuses[at].add(1),
            None => self.count_rare(status),
        }
    }

    #[cold]
    fn count_rare(&self, status: StatusCode) {
        *lock(&self.rare_statuses).entry(status.as_u16()).or_default() += 1;
    }

    fn add_to(&self, route: &mut RouteMetrics) {
        let common = COMMON_STATUSES.iter().zip(&self.statuses).map(|(&status, count)| (status, count.get()));
        let rare = lock(&self.rare_statuses).clone();
        for (status, count) in common.chain(rare).filter(|(_, count)| *count > 0) {
            match route.statuses.iter_mut().find(|(known, _)| *known == status) {
                Some((_, sum)) => *sum += count,
                None => route.statuses.push((status, count)),
            }
        }
        self.duration.add_to(&mut route.duration);
    }
}

/// A histogram that one thread at a time writes.
#[derive(Debug, Default)]
pub(crate) struct HistogramCounters {
    counts: [Counter; Histogram::BOUNDS_NS.len() + 1],
    sum_ns: Counter,
}

#[inline(never)]
fn bucket_of(took_ns: u64) -> usize {
    Histogram::BOUNDS_NS.partition_point(|&bound| bound < took_ns)
}

impl HistogramCounters {
    #[inline]
    pub(crate) fn record(&self, took_ns: u64) {
        // Calls so short that a search would be a part of them end up in the first bucket.
        let is_in_first = took_ns <= Histogram::BOUNDS_NS[0];
        let bucket = if is_in_first { 0 } else { bucket_of(took_ns) };
        self.counts[bucket].add(1);
        self.sum_ns.add(took_ns);
    }

    fn add_to(&self, histogram: &mut Histogram) {
        histogram.counts.resize(self.counts.len(), 0);
        for (sum, counter) in histogram.counts.iter_mut().zip(&self.counts) {
            *sum += counter.get();
        }
        histogram.sum += Duration::from_nanos(self.sum_ns.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_add_up() {
        let shards = [Shard::new(1), Shard::new(1)];
        shards[0].answered(0, StatusCode::OK, 7_000);
        shards[1].answered(0, StatusCode::OK, 60_000_000_000);
        shards[1].answered(0, StatusCode::from_u16(460).unwrap(), 11_000);
        let mut snapshot =
            MetricsSnapshot { routes: vec![RouteMetrics::default()], ..MetricsSnapshot::default() };
        shards.iter().for_each(|shard| shard.add_to(&mut snapshot));
        let route = &snapshot.routes[0];
        assert_eq!(route.statuses, [(200, 2), (460, 1)]);
        assert_eq!(route.duration.counts[..2], [1, 1]);
        assert_eq!(route.duration.counts.last(), Some(&1));
        assert_eq!(route.duration.sum, Duration::from_secs(60) + Duration::from_micros(18));
    }
}
