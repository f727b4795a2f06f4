//! Engine threads and the interpreter.
//!
//! A thread that calls Python needs a thread state, which holds what Python keeps for each thread: `threading.local`,
//! context variables, `threading.current_thread()`. Made and dropped for each request it would cost a microsecond and
//! forget all that. So a thread's first call makes one that stays until the thread ends; later calls only take and leave
//! the GIL.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::{Python, ffi};
use tayet::Turn;

/// Calls `f` attached to the interpreter. Waits for the GIL, where there is one; that others have it is not held against the
/// application.
pub(crate) fn attached<R>(f: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    let turn = Turn::wait();
    ATTACHMENT.with(|_| {
        Python::attach(|py| {
            drop(turn);
            f(py)
        })
    })
}

/// A server begins to have threads.
pub(crate) fn server_started() {
    SERVERS.fetch_add(1, Ordering::Relaxed);
}

/// A server has stopped. The last one waits until no engine thread has a thread state any longer, so that the interpreter can
/// end without them; `false` when that takes longer than `limit`.
pub(crate) fn server_stopped(limit: Duration) -> bool {
    if SERVERS.fetch_sub(1, Ordering::Relaxed) > 1 {
        return true;
    }
    let deadline = Instant::now() + limit;
    let mut count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    while *count > 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        count = CHANGED.wait_timeout(count, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}

thread_local! {
    static ATTACHMENT: Attachment = Attachment::new();
}

/// Servers that run in this process. Their threads are not told apart.
static SERVERS: AtomicUsize = AtomicUsize::new(0);
/// Threads with a thread state of this module's making.
static COUNT: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// A thread's lasting thread state.
struct Attachment {
    before: ffi::PyGILState_STATE,
    /// `None` for a thread that Python itself has made.
    state: Option<*mut ffi::PyThreadState>,
}

impl Attachment {
    fn new() -> Self {
        // SAFETY: the interpreter runs, since it has imported this module, and `server_stopped` keeps it from ending before
        // the engine's threads have. `Ensure` and `SaveThread` are called as a pair: the first makes the thread state and
        // takes the GIL, the second leaves the GIL and keeps the state.
        unsafe {
            if !ffi::PyGILState_GetThisThreadState().is_null() {
                return Self { before: ffi::PyGILState_STATE::PyGILState_LOCKED, state: None };
            }
            let before = ffi::PyGILState_Ensure();
            let state = Some(ffi::PyEval_SaveThread());
            *COUNT.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            Self { before, state }
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let Some(state) = self.state else { return };
        // SAFETY: `state` is this thread's own, made in `new` and not current, since the thread is about to end and so is in
        // no call of `attached`. `Release` undoes the `Ensure` of `new`, whose result it is given, and so drops the state.
        unsafe {
            if ffi::Py_IsInitialized() != 0 {
                ffi::PyEval_RestoreThread(state);
                ffi::PyGILState_Release(self.before);
            }
        }
        *COUNT.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        CHANGED.notify_all();
    }
}
