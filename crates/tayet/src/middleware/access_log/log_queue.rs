//! Between the handlers, whose lines they are, and the thread that writes them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::AccessLogFormat;
use super::entry::{Clock, Entry};

/// How long the writer lets lines gather, so that it is not woken for each. It is woken earlier when the queue is half full.
const GATHER_MS: u64 = 50;

/// A bounded queue with a thread that empties it. Dropping it writes what it holds.
pub(super) struct LogQueue {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    dropped: AtomicU64,
}

struct State {
    entries: Vec<Entry>,
    capacity_entries: usize,
    is_closed: bool,
}

impl LogQueue {
    pub(super) fn new(
        writer: Box<dyn Write + Send>,
        format: AccessLogFormat,
        capacity_entries: usize,
    ) -> Self {
        let state = State { entries: Vec::new(), capacity_entries, is_closed: false };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), dropped: AtomicU64::new(0) });
        let write = {
            let shared = Arc::clone(&shared);
            move || write_all(&shared, writer, format)
        };
        let writer = thread::Builder::new().name("tayet-access-log".to_owned()).spawn(write);
        Self { shared, writer: writer.map_err(|error| tracing::error!("no access log: {error}")).ok() }
    }

    /// Queues an entry, or drops and counts it. The writer is woken by the first one, and when half of the room is taken.
    pub(super) fn push(&self, entry: Entry) {
        let mut state = self.shared.lock();
        if state.entries.len() >= state.capacity_entries || self.writer.is_none() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        state.entries.push(entry);
        let count = state.entries.len();
        if count == 1 || count == state.capacity_entries / 2 {
            self.shared.wake.notify_one();
        }
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
        self.shared.wake.notify_one();
        let is_joined = self.writer.take().is_none_or(|writer| writer.join().is_ok());
        if !is_joined {
            tracing::error!("the access log's writer panicked");
        }
    }
}

impl Shared {
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
        if !state.is_closed && state.entries.len() < state.capacity_entries / 2 {
            state = wait(state, Duration::from_millis(GATHER_MS));
        }
        std::mem::swap(&mut state.entries, taken);
        (!taken.is_empty()).then_some(())
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
}
