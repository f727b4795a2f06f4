//! Waits for what one thread at a time can have.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::trial;

/// A handler's wait for what only one thread at a time can have, such as an interpreter's lock: from [`Turn::wait`] until it
/// is dropped.
///
/// That time does not make the handler's route a slow one, for it would have had to wait on any thread. Without this, calls
/// that wait for each other would look long on the pool for no other reason than that there are many of them, and would
/// never be tried on their loop again, where they would not wait.
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
        tell(|place| place.begin_wait());
        Self { asked: Instant::now() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        tell(|place| place.end_wait());
        trial::excuse(self.asked.elapsed());
    }
}

/// How many threads of a pool wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct TurnQueue {
    waiting: AtomicUsize,
}

impl TurnQueue {
    /// The calling thread, which must be new, is one of the pool's.
    pub(crate) fn join(self: &Arc<Self>) {
        let place = Arc::new(TurnPlace { queue: Arc::clone(self), is_waiting: AtomicBool::new(false) });
        PLACE.with(|own| own.set(place).expect("a thread belongs to one pool"));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }
}

/// A thread in its pool's queue, as others see it.
#[derive(Debug)]
pub(crate) struct TurnPlace {
    queue: Arc<TurnQueue>,
    is_waiting: AtomicBool,
}

impl TurnPlace {
    /// The calling thread's, if it has joined a pool.
    pub(crate) fn of_current() -> Option<Arc<Self>> {
        PLACE.with(|place| place.get().map(Arc::clone))
    }

    /// Whether the thread waits for its turn just now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    fn begin_wait(&self) {
        self.queue.waiting.fetch_add(1, Ordering::Relaxed);
        self.is_waiting.store(true, Ordering::Relaxed);
    }

    fn end_wait(&self) {
        self.is_waiting.store(false, Ordering::Relaxed);
        self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells the calling thread's pool, if it has one.
fn tell(what: impl FnOnce(&TurnPlace)) {
    PLACE.with(|place| place.get().map(|place| what(place)));
}

thread_local! {
    static PLACE: OnceCell<Arc<TurnPlace>> = const { OnceCell::new() };
}
