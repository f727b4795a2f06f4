//! Waits for what one thread at a time can have.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A handler's wait for what only one thread at a time can have, such as an interpreter's lock: from [`Turn::wait`] until it
/// is dropped.
///
/// That time does not make the handler's route a slow one, for it would have had to wait on any thread. Without this, calls
/// that wait for each other would look long on the pool for no other reason than that there are many of them, and would
/// never be tried on their loop again, where they would not wait. The last wait of a call counts.
///
/// Nor does the pool get another thread while one of its threads waits so: the new one could only wait as well.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
///
/// use tayet_engine::Turn;
///
/// static INTERPRETER: Mutex<()> = Mutex::new(());
///
/// let turn = Turn::wait();
/// let held = INTERPRETER.lock().unwrap();
/// drop(turn);
/// # drop(held);
/// ```
#[derive(Debug)]
#[must_use = "the wait ends where it is dropped"]
pub struct Turn {
    asked: Instant,
}

impl Turn {
    /// The calling thread begins to wait.
    pub fn wait() -> Self {
        queue(|queue| queue.waiting.fetch_add(1, Ordering::Relaxed));
        Self { asked: Instant::now() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        queue(|queue| queue.waiting.fetch_sub(1, Ordering::Relaxed));
        excuse(self.asked.elapsed());
    }
}

/// Excuses so much of the call that this thread runs.
pub(crate) fn excuse(waited: Duration) {
    EXCUSED.set(waited);
}

/// What is excused of the call that has just come to its end on this thread.
pub(crate) fn take_excused() -> Duration {
    EXCUSED.take()
}

/// How many threads of a pool wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue {
    waiting: AtomicUsize,
}

impl TurnQueue {
    /// The calling thread, which must be new, is one of the pool's.
    pub(crate) fn join(self: &Arc<Self>) {
        QUEUE.with(|queue| queue.set(Arc::clone(self)).expect("a thread belongs to one pool"));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }
}

/// Tells the calling thread's pool, if it has one.
fn queue(tell: impl FnOnce(&TurnQueue) -> usize) {
    QUEUE.with(|queue| queue.get().map(|queue| tell(queue)));
}

thread_local! {
    static EXCUSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static QUEUE: OnceCell<Arc<TurnQueue>> = const { OnceCell::new() };
}
