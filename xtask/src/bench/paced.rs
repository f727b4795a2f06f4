//! A steady load that does not wait for slow answers: latency counts from the moment when a request was due.
//!
//! A load generator at saturation sends nothing on a connection that waits, so a stall shows as one slow request instead
//! of as the hundreds that could not be sent meanwhile.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use super::client::Connection;

/// What an answer may take; one that takes longer, or fails, counts as having taken this.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A load: so many requests a second, evenly spread over so many keep-alive connections.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) requests_per_second: u32,
    pub(super) connections: u32,
    /// Threads that share the connections.
    pub(super) clients: u32,
    pub(super) duration: Duration,
}

/// What came of it, in microseconds from when a request was due.
#[derive(PartialEq, Debug)]
pub(super) struct Latencies {
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) max_us: f64,
    pub(super) answered_percent: f64,
}

impl Pace {
    /// Asks for `path` at this pace.
    pub(super) fn run(self, address: SocketAddr, path: &str) -> anyhow::Result<Latencies> {
        let open = |first| {
            let numbers = (first..self.connections).step_by(self.clients as usize);
            numbers.map(|_| Connection::open(address, ANSWER_LIMIT).map(Some)).collect()
        };
        let connections = (0..self.clients).map(open).collect::<anyhow::Result<Vec<Vec<_>>>>()?;
        let start = Instant::now();
        let waits: anyhow::Result<Vec<_>> = thread::scope(|scope| {
            let clients: Vec<_> = (0..)
                .zip(connections)
                .map(|(client, connections)| {
                    scope.spawn(move || self.run_client(address, path, start, client, connections))
                })
                .collect();
            let joined =
                clients.into_iter().map(|client| client.join().map_err(|_| anyhow!("a client panicked")));
            joined.collect()
        });
        summarize(waits?.into_iter().flatten().collect()).context("nothing was sent")
    }

    /// Every `clients`-th request of the whole, on one connection after another; nothing where there was no answer in time.
    fn run_client(
        self,
        address: SocketAddr,
        path: &str,
        start: Instant,
        first: u32,
        mut connections: Vec<Option<Connection>>,
    ) -> Vec<Option<Duration>> {
        let interval = Duration::from_secs(1) / self.requests_per_second;
        let total = self.requests_per_second * self.duration.as_secs() as u32;
        // A server that has stopped answering is not asked all the rest, one limit after the other.
        let deadline = start + self.duration + ANSWER_LIMIT;
        let turns = connections.len();
        let mut waits = Vec::new();
        for (turn, number) in (first..total).step_by(self.clients as usize).enumerate() {
            let due = start + interval * number;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let is_answered = Instant::now() < deadline && ask(&mut connections[turn % turns], address, path);
            waits.push(is_answered.then(|| due.elapsed()));
        }
        waits
    }
}

/// Whether there was an answer. A connection that fails is replaced for the next request.
fn ask(connection: &mut Option<Connection>, address: SocketAddr, path: &str) -> bool {
    let open = connection.take().map_or_else(|| Connection::open(address, ANSWER_LIMIT), Ok);
    let Ok(mut open) = open else { return false };
    let is_answered = open.get(path).is_ok_and(|response| response.status == 200);
    *connection = is_answered.then_some(open);
    is_answered
}

fn summarize(waits: Vec<Option<Duration>>) -> Option<Latencies> {
    let answered = waits.iter().flatten().count();
    let mut us: Vec<f64> =
        waits.iter().map(|wait| wait.unwrap_or(ANSWER_LIMIT).as_secs_f64() * 1e6).collect();
    us.sort_by(f64::total_cmp);
    // The smallest value that so many percent do not exceed.
    let percentile = |percent: usize| us.get((us.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Some(Latencies {
        p50_us: percentile(50)?,
        p99_us: percentile(99)?,
        max_us: percentile(100)?,
        answered_percent: 100.0 * answered as f64 / waits.len() as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_rank() {
        let waits = (1..=200).rev().map(|ms| Some(Duration::from_millis(ms))).collect();
        let latencies = summarize(waits).unwrap();
        let expected =
            Latencies { p50_us: 100_000.0, p99_us: 198_000.0, max_us: 200_000.0, answered_percent: 100.0 };
        assert_eq!(latencies, expected);
    }

    #[test]
    fn what_was_not_answered_counts_as_the_limit() {
        let latencies = summarize(vec![Some(Duration::from_millis(1)), None]).unwrap();
        assert_eq!(latencies.max_us, ANSWER_LIMIT.as_secs_f64() * 1e6);
        assert_eq!(latencies.answered_percent, 50.0);
        assert_eq!(summarize(Vec::new()), None);
    }
}
