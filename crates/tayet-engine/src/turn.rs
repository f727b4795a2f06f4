//! Waits for what one thread at a time can have.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::turn_queue::TurnQueue;
use crate::{kept, trial};

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
    /// `None` where nobody wants to know: reading the clock twice is a good part of a turn that comes at once.
    asked: Option<Instant>,
}

impl Turn {
    /// The calling thread begins to wait.
    pub fn wait() -> Self {
        tell(Member::begin_wait);
        Self { asked: trial::is_on().then(Instant::now) }
    }

    /// At its end a handler may keep what it had its turn for, where a call waits for a worker: the next call, if it is of the same
    /// route, has it at once ([`Turn::take_kept`]), and nobody must be woken for it. Until then a short answer is sent, no more.
    ///
    /// `false` where it is not to be kept: nothing waits, it has been kept for 2 ms of CPU time, or this is a loop's thread. If it
    /// is, `give_back` is called on this thread as soon as that does something else.
    ///
    /// Middleware around the handler has it until then, too, and should not wait for anything.
    ///
    /// # Examples
    ///
    /// ```
    /// use tayet_engine::Turn;
    ///
    /// # fn take_lock() {}
    /// # fn leave_lock() {}
    /// # fn interpret() {}
    /// fn handler() {
    ///     if !Turn::take_kept() {
    ///         let turn = Turn::wait();
    ///         take_lock();
    ///         drop(turn);
    ///     }
    ///     interpret();
    ///     if !Turn::keep(leave_lock) {
    ///         leave_lock();
    ///     }
    /// }
    /// # handler();
    /// ```
    pub fn keep(give_back: fn()) -> bool {
        MEMBER.with(|own| own.get().is_some_and(|member| member.pool.turns().queued() > 0))
            && kept::keep(give_back)
    }

    /// At its beginning a handler asks whether the call before has kept what it would wait for. If so, it is this call's.
    #[must_use]
    pub fn take_kept() -> bool {
        kept::take()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        tell(Member::end_wait);
        if let Some(asked) = self.asked {
            trial::excuse(asked.elapsed());
        }
    }
}

/// Whose threads take turns.
pub(crate) trait TurnTakers: Send + Sync {
    fn turns(&self) -> &TurnQueue;

    /// One has got its turn while calls wait for a thread.
    fn call_next(&self);
}

/// The calling thread, which must be new, is one of these.
pub(crate) fn join(pool: Arc<dyn TurnTakers>) {
    let member = Member { pool, place: Arc::default() };
    assert!(MEMBER.with(|own| own.set(member)).is_ok(), "a thread belongs to one pool");
}

/// A thread's part in what its pool knows of turns.
struct Member {
    pool: Arc<dyn TurnTakers>,
    place: Arc<TurnPlace>,
}

impl Member {
    fn begin_wait(&self) {
        self.pool.turns().begin_wait();
        self.place.is_waiting.store(true, Ordering::Relaxed);
    }

    fn end_wait(&self) {
        self.place.is_waiting.store(false, Ordering::Relaxed);
        if self.pool.turns().end_wait() {
            self.pool.call_next();
        }
    }
}

/// A thread, as those see it who ask whether it waits for its turn.
#[derive(Debug, Default)]
pub(crate) struct TurnPlace {
    is_waiting: AtomicBool,
}

impl TurnPlace {
    /// The calling thread's, if it has joined a pool.
    pub(crate) fn of_current() -> Option<Arc<Self>> {
        MEMBER.with(|own| own.get().map(|member| Arc::clone(&member.place)))
    }

    /// Whether the thread waits for its turn just now.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }
}

/// Tells the calling thread's pool, if it has one.
fn tell(what: impl FnOnce(&Member)) {
    MEMBER.with(|own| own.get().map(what));
}

thread_local! {
    static MEMBER: OnceCell<Member> = const { OnceCell::new() };
}
