//! Waits for which a handler is not to blame.

use std::cell::Cell;
use std::time::Duration;

/// Says that the handler which this thread runs has waited so long for what it would have had to wait for on any thread, such
/// as an interpreter's lock. That time does not make its route a slow one. It counts for the call under way; the last word
/// holds.
///
/// Without it, calls that wait for each other would look long on the pool for no other reason than that there are many of
/// them, and would never be tried on their loop again, where they would not wait.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
/// use std::time::Instant;
///
/// static INTERPRETER: Mutex<()> = Mutex::new(());
///
/// let asked = Instant::now();
/// let held = INTERPRETER.lock().unwrap();
/// tayet_engine::excuse_wait(asked.elapsed());
/// # drop(held);
/// ```
pub fn excuse_wait(waited: Duration) {
    EXCUSED.set(waited);
}

/// What is excused of the call that has just come to its end on this thread.
pub(crate) fn take_excused() -> Duration {
    EXCUSED.take()
}

thread_local! {
    static EXCUSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}
