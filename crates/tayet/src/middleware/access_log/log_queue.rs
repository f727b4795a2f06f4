//! Between the handlers, whose lines they are, and the thread that writes them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::entry::{Clock, Entry};
use super::{ACCESS_LOG_FLUSH_TIMEOUT_MS, AccessLogFormat};

/// How long the writer lets lines gather, so that it is not woken for each. It is woken earlier when the queue is half full,
/// and when somebody waits for it.
const GATHER_MS: u64 = 50;

/// A bounded queue with a thread that empties it. Dropping it writes what it holds.
pub(super) struct LogQueue {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    flush_timeout: Duration,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    written: Condvar,
    dropped: AtomicU64,
}

struct State {
    entries: Vec<Entry>,
    capacity_entries: usize,
    /// Entries that were ever queued.
    queued: u64,
    /// Those of them that the writer is done with.
    written: u64,
    /// How many wait for the writer.
    flushes: usize,
    is_closed: bool,
}

impl LogQueue {
    pub(super) fn new(
        writer: Box<dyn Write + Send>,
        format: AccessLogFormat,
        capacity_entries: usize,
    ) -> Self {
        let shared = Arc::new(Shared::new(capacity_entries));
        let write = {
            let shared = Arc::clone(&shared);
            move || write_all(&shared, writer, format)
        };
        let writer = thread::Builder::new().name("tayet-access-log".to_owned()).spawn(write);
        Self {
            shared,
            writer: writer.map_err(|error| tracing::error!("no access log: {error}")).ok(),
            flush_timeout: Duration::from_millis(ACCESS_LOG_FLUSH_TIMEOUT_MS),
        }
    }

    /// Queues an entry, or drops and counts it. The writer is woken by the first one, and when half of the room is taken.
    pub(super) fn push(&self, entry: Entry) {
        let mut state = self.shared.lock();
        if state.entries.len() >= state.capacity_entries || self.writer.is_none() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.entries.push(entry);
        state.queued += 1;
        let count = state.entries.len();
        if count == 1 || count == state.capacity_entries / 2 {
            self.shared.wake.notify_one();
        }
    }

    /// Has what was queued before written, and waits for it; `false` when that takes too long.
    pub(super) fn flush(&self) -> bool {
        let mut state = self.shared.lock();
        let target = state.queued;
        state.flushes += 1;
        self.shared.wake.notify_one();
        let is_missing = |state: &mut State| state.written < target;
        let waited = self.shared.written.wait_timeout_while(state, self.flush_timeout, is_missing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.flushes -= 1;
        let missing = target.saturating_sub(state.written);
        if missing > 0 {
            tracing::error!("the access log's writer hangs: {missing} lines are not written");
        }
        missing == 0
    }

    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn capacity_entries(&self) -> usize {
        self.shared.lock().capacity_entries
    }

    pub(super) fn set_capacity_entries(&self, capacity_entries: usize) {
        self.shared.lock().capacity_entries = capacity_entries;
    }
}

impl Drop for LogQueue {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        // A writer that hangs is left to itself.
        if self.flush()
            && let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the access log's writer panicked");
        }
    }
}

impl Shared {
    fn new(capacity_entries: usize) -> Self {
        let state = State {
            entries: Vec::new(),
            capacity_entries,
            queued: 0,
            written: 0,
            flushes: 0,
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            wake: Condvar::new(),
            written: Condvar::new(),
            dropped: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for entries, lets more gather, and takes them; `None` when there will be no more.
    fn take(&self, taken: &mut Vec<Entry>) -> Option<()> {
        let wait =
            |state, timeout| self.wake.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
        let mut state = self.lock();
        while state.entries.is_empty() && !state.is_closed {
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_closed && state.flushes == 0 && state.entries.len() < state.capacity_entries / 2 {
            state = wait(state, Duration::from_millis(GATHER_MS));
        }
        std::mem::swap(&mut state.entries, taken);
        (!taken.is_empty()).then_some(())
    }

    /// Tells those who wait that the writer is done with so many entries, written or not.
    fn done(&self, count: usize) {
        self.lock().written += count as u64;
        self.written.notify_all();
    }
}

/// The writer's life.
fn write_all(shared: &Shared, mut writer: Box<dyn Write + Send>, format: AccessLogFormat) {
    let mut clock = Clock::default();
    let mut entries = Vec::new();
    let mut text = String::new();
    let mut reported = 0;
    let mut is_failing = false;
    while shared.take(&mut entries).is_some() {
        text.clear();
        let count = entries.len();
        entries.drain(..).for_each(|entry| entry.write(format, &mut clock, &mut text));
        let written = write_text(&mut writer, &text);
        if let (Err(error), false) = (&written, is_failing) {
            tracing::error!("the access log cannot be written: {error}");
        }
        is_failing = written.is_err();
        let dropped = shared.dropped.load(Ordering::Relaxed);
        if dropped > reported {
            tracing::warn!("the access log's queue was full: {} lines dropped", dropped - reported);
            reported = dropped;
        }
        shared.done(count);
    }
}

fn write_text(writer: &mut dyn Write, text: &str) -> io::Result<()> {
    writer.write_all(text.as_bytes())?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Says when it is asked to write, and waits to be let.
    struct Gate {
        asked: mpsc::Sender<usize>,
        let_go: mpsc::Receiver<()>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.asked.send(bytes.iter().filter(|&&byte| byte == b'\n').count()).map_err(io::Error::other)?;
            self.let_go.recv().map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_queue_drops_and_counts_and_never_waits() {
        let (asked, asks) = mpsc::channel();
        let (let_go, lets) = mpsc::channel();
        let queue = LogQueue::new(Box::new(Gate { asked, let_go: lets }), AccessLogFormat::Common, 4);
        queue.push(Entry::example());
        assert_eq!(asks.recv(), Ok(1));
        for _ in 0..10 {
            queue.push(Entry::example());
        }
        assert_eq!(queue.dropped(), 6);
        let_go.send(()).unwrap();
        assert_eq!(asks.recv(), Ok(4));
        let_go.send(()).unwrap();
    }

    #[test]
    fn what_is_queued_at_the_end_is_written() {
        let (asked, asks) = mpsc::channel();
        let (let_go, lets) = mpsc::channel();
        let queue = LogQueue::new(Box::new(Gate { asked, let_go: lets }), AccessLogFormat::Json, 100);
        for _ in 0..3 {
            queue.push(Entry::example());
        }
        for _ in 0..3 {
            let_go.send(()).unwrap();
        }
        drop(queue);
        assert_eq!(asks.iter().sum::<usize>(), 3);
    }

    #[test]
    fn a_flush_waits_until_what_was_queued_is_written() {
        let (asked, asks) = mpsc::channel();
        let (let_go, lets) = mpsc::channel();
        let queue = LogQueue::new(Box::new(Gate { asked, let_go: lets }), AccessLogFormat::Common, 100);
        assert!(queue.flush(), "an empty queue has nothing to wait for");
        for _ in 0..3 {
            let_go.send(()).unwrap();
            queue.push(Entry::example());
        }
        assert!(queue.flush());
        assert_eq!(asks.try_iter().sum::<usize>(), 3);
    }

    #[test]
    fn a_writer_that_hangs_is_given_up_by_a_flush_and_by_dropping() {
        let (asked, asks) = mpsc::channel();
        let (let_go, lets) = mpsc::channel();
        let mut queue = LogQueue::new(Box::new(Gate { asked, let_go: lets }), AccessLogFormat::Common, 100);
        queue.flush_timeout = Duration::from_millis(1);
        queue.push(Entry::example());
        assert_eq!(asks.recv(), Ok(1));
        assert!(!queue.flush());
        drop(queue);
        drop(let_go);
    }

    #[test]
    fn a_flush_does_not_wait_for_lines_that_a_broken_writer_refused() {
        let (asked, asks) = mpsc::channel();
        drop(asks);
        let gate = Gate { asked, let_go: mpsc::channel().1 };
        let queue = LogQueue::new(Box::new(gate), AccessLogFormat::Common, 100);
        queue.push(Entry::example());
        assert!(queue.flush());
    }
}
