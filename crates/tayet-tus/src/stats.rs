//! Figures about uploads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

use crate::{Finished, UploadId};

/// Over how many whole seconds the rate is taken.
const RATE_WINDOW_SECONDS: u64 = 5;
/// How many finished uploads are listed, the latest first.
const MAX_LISTED: usize = 100;

/// Figures about uploads since the program began.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) created: AtomicU64,
    pub(crate) active: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) terminated: AtomicU64,
    pub(crate) stored_bytes: AtomicU64,
    pub(crate) webhooks_delivered: AtomicU64,
    pub(crate) webhooks_lost: AtomicU64,
    received_bytes: AtomicU64,
    rate: Mutex<Rate>,
    finished: Mutex<VecDeque<Listed>>,
    start: Instant,
}

/// Bytes by second, the latest last.
#[derive(Debug, Default)]
struct Rate {
    seconds: VecDeque<(u64, u64)>,
}

/// Figures about uploads, as `GET .../stats` answers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UploadStats {
    /// Uploads that were begun.
    pub total: u64,
    /// Requests whose bodies come now.
    pub active: u64,
    /// Uploads that came whole.
    pub completed: u64,
    /// Requests whose bodies did not come whole, or that could not be stored. Their uploads may be resumed.
    pub failed: u64,
    /// Uploads that were removed since nobody came back for them.
    pub expired: u64,
    /// Uploads that were removed by their clients.
    pub terminated: u64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// Bytes that came in each of the last seconds, on the average.
    pub bytes_per_second: u64,
    /// Bytes that the store holds.
    pub stored_bytes: u64,
    /// Events that a webhook has got.
    pub webhooks_delivered: u64,
    /// Events that a webhook did not want, or that could not be sent in time.
    pub webhooks_lost: u64,
    /// The latest finished uploads, the last one first; only where [`Uploads::list_finished`](crate::Uploads::list_finished)
    /// says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<Vec<Listed>>,
}

/// A finished upload, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// What the upload was called.
    pub id: UploadId,
    /// What became of it.
    #[serde(flatten)]
    pub finished: Finished,
}

impl Stats {
    pub(crate) fn new() -> Self {
        Self {
            created: AtomicU64::new(0),
            active: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            terminated: AtomicU64::new(0),
            stored_bytes: AtomicU64::new(0),
            webhooks_delivered: AtomicU64::new(0),
            webhooks_lost: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            rate: Mutex::default(),
            finished: Mutex::default(),
            start: Instant::now(),
        }
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        lock(&self.rate).add(self.start.elapsed().as_secs(), bytes as u64);
    }

    pub(crate) fn finished(&self, id: UploadId, finished: &Finished) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        self.list(id, finished);
    }

    /// Lists an upload that was finished before this program began.
    pub(crate) fn list(&self, id: UploadId, finished: &Finished) {
        let mut list = lock(&self.finished);
        list.push_front(Listed { id, finished: finished.clone() });
        list.make_contiguous().sort_by_key(|listed| std::cmp::Reverse(listed.finished.at));
        list.truncate(MAX_LISTED);
    }

    pub(crate) fn unlist(&self, id: UploadId) {
        lock(&self.finished).retain(|listed| listed.id != id);
    }

    pub(crate) fn snapshot(&self, with_finished: bool) -> UploadStats {
        let get = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        UploadStats {
            total: get(&self.created),
            active: get(&self.active),
            completed: get(&self.completed),
            failed: get(&self.failed),
            expired: get(&self.expired),
            terminated: get(&self.terminated),
            received_bytes: get(&self.received_bytes),
            bytes_per_second: lock(&self.rate).bytes_per_second(self.start.elapsed().as_secs()),
            stored_bytes: get(&self.stored_bytes),
            webhooks_delivered: get(&self.webhooks_delivered),
            webhooks_lost: get(&self.webhooks_lost),
            finished: with_finished.then(|| lock(&self.finished).iter().cloned().collect()),
        }
    }
}

impl Rate {
    fn add(&mut self, second: u64, bytes: u64) {
        match self.seconds.back_mut() {
            Some((last, sum)) if *last == second => *sum += bytes,
            _ => self.seconds.push_back((second, bytes)),
        }
        while self.seconds.front().is_some_and(|(first, _)| first + RATE_WINDOW_SECONDS < second) {
            self.seconds.pop_front();
        }
    }

    /// The second that is under way does not count yet.
    fn bytes_per_second(&self, now: u64) -> u64 {
        let window = now.saturating_sub(RATE_WINDOW_SECONDS)..now;
        let sum: u64 =
            self.seconds.iter().filter(|(second, _)| window.contains(second)).map(|(_, bytes)| bytes).sum();
        sum / RATE_WINDOW_SECONDS.min(now.max(1))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixSeconds;

    #[test]
    fn the_rate_is_that_of_the_last_whole_seconds() {
        let mut rate = Rate::default();
        for second in 0..20 {
            rate.add(second, 600);
            rate.add(second, 400);
        }
        assert_eq!(rate.bytes_per_second(20), 1_000);
        assert_eq!(rate.bytes_per_second(22), 600);
        assert_eq!(rate.bytes_per_second(60), 0);
        assert!(rate.seconds.len() as u64 <= RATE_WINDOW_SECONDS + 1);
    }

    #[test]
    fn the_latest_are_listed() {
        let stats = Stats::new();
        for at in 0..MAX_LISTED as u64 + 5 {
            let finished = Finished { name: at.to_string(), length: 1, sha256: None, at: UnixSeconds(at) };
            stats.finished(UploadId::random().unwrap(), &finished);
        }
        let listed = stats.snapshot(true).finished.unwrap();
        assert_eq!((listed.len(), listed[0].finished.name.as_str()), (MAX_LISTED, "104"));
        stats.unlist(listed[0].id);
        assert_eq!(stats.snapshot(true).finished.unwrap().len(), MAX_LISTED - 1);
        assert_eq!(stats.snapshot(false).finished, None);
    }
}
