//! Engine threads and the interpreter.
//!
//! A thread that calls Python needs a thread state, which holds what Python keeps for each thread: `threading.local`,
//! context variables, `threading.current_thread()`. Made and dropped for each request it would cost a microsecond and
//! forget all that. So a thread's first call makes one that stays until the thread ends; later calls only take and leave
//! the GIL.
//!
//! Who comes to the GIL from here goes through a [`Door`] first.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;
use tayet::Turn;

use crate::door::{Door, Passage};

/// Calls `f` attached to the interpreter. Waits for the GIL, where there is one; that others have it is not held against the
/// application.
pub(crate) fn attached<R>(f: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    ATTACHMENT.with(|attachment| {
        let queue = attachment.may_wait_at_door().then(Queue::join);
        let was_inside = attachment.is_inside.replace(true);
        let result = Python::attach(|py| {
            drop(queue);
            f(py)
        });
        attachment.is_inside.set(was_inside);
        result
    })
}

/// As [`attached`], for a call of the application: at its end the GIL stays with this thread if another call waits already.
pub(crate) fn attached_for_call<R>(f: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    let gil = ATTACHMENT.with(|attachment| Gil::kept().or_else(|| attachment.take_gil()));
    let Some(gil) = gil else { return attached(f) };
    let result = Python::attach(f);
    gil.leave();
    result
}

/// A server begins to have threads.
pub(crate) fn server_started(py: Python<'_>) {
    HAS_GIL.store(has_gil(py), Ordering::Relaxed);
    SERVERS.fetch_add(1, Ordering::Relaxed);
}

/// Whether one thread at a time runs Python.
pub(crate) fn has_gil(py: Python<'_>) -> bool {
    // Only where it can be told can it be otherwise.
    let is_enabled = py.import("sys").and_then(|sys| sys.call_method0("_is_gil_enabled")?.extract::<bool>());
    is_enabled.unwrap_or(true)
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

/// How many threads wait for the GIL at once, beside those that Python itself has wait for it.
const MAX_WAITING_FOR_GIL: usize = 8;
static DOOR: Door = Door::new(MAX_WAITING_FOR_GIL);
/// Whether the interpreter has one.
static HAS_GIL: AtomicBool = AtomicBool::new(true);
/// Servers that run in this process. Their threads are not told apart.
static SERVERS: AtomicUsize = AtomicUsize::new(0);
/// Threads with a thread state of this module's making.
static COUNT: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// A thread's wait for the GIL, until it is dropped.
struct Queue {
    _passage: Option<Passage<'static>>,
    _turn: Turn,
}

impl Queue {
    fn join() -> Self {
        let turn = Turn::wait();
        let passage = HAS_GIL.load(Ordering::Relaxed).then(|| DOOR.enter());
        Self { _passage: passage, _turn: turn }
    }
}

/// The GIL, from a call's beginning to its end or, if it is kept, to that of the next one.
struct Gil;

impl Gil {
    /// What the call before has left to this one.
    fn kept() -> Option<Self> {
        Turn::take_kept().then(|| Self)
    }

    /// The call has come to its end.
    fn leave(self) {
        if HAS_GIL.load(Ordering::Relaxed) && Turn::keep(Self::release) {
            std::mem::forget(self);
        }
    }

    fn release() {
        ATTACHMENT.with(|attachment| attachment.is_inside.set(false));
        // SAFETY: undoes the `RestoreThread` of `take_gil`, on the same thread and once: by the drop of its `Gil` or, where that is
        // forgotten, by whoever `Turn::keep` leaves it to. What it returns is the thread's lasting state, which is kept already.
        unsafe { ffi::PyEval_SaveThread() };
    }
}

impl Drop for Gil {
    fn drop(&mut self) {
        Self::release();
    }
}

/// A thread's lasting thread state.
struct Attachment {
    before: ffi::PyGILState_STATE,
    /// `None` for a thread that Python itself has made.
    state: Option<*mut ffi::PyThreadState>,
    /// It has come in by [`attached`], and may have the GIL.
    is_inside: Cell<bool>,
}

impl Attachment {
    fn new() -> Self {
        // SAFETY: the interpreter runs, since it has imported this module, and `server_stopped` keeps it from ending before
        // the engine's threads have. `Ensure` and `SaveThread` are called as a pair: the first makes the thread state and
        // takes the GIL, the second leaves the GIL and keeps the state.
        unsafe {
            if !ffi::PyGILState_GetThisThreadState().is_null() {
                let before = ffi::PyGILState_STATE::PyGILState_LOCKED;
                return Self { before, state: None, is_inside: Cell::default() };
            }
            let queue = Queue::join();
            let before = ffi::PyGILState_Ensure();
            drop(queue);
            let state = Some(ffi::PyEval_SaveThread());
            *COUNT.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            Self { before, state, is_inside: Cell::default() }
        }
    }

    /// Takes the GIL for a call, unless this thread may have it. With the state at hand that is less to do than to ask for it.
    fn take_gil(&self) -> Option<Gil> {
        let state = self.state.filter(|_| self.may_wait_at_door())?;
        let queue = Queue::join();
        // SAFETY: the interpreter runs, as in `new`. `state` is this thread's own, and since it does not have the GIL
        // (`may_wait_at_door`) not current.
        unsafe { ffi::PyEval_RestoreThread(state) };
        drop(queue);
        self.is_inside.set(true);
        Some(Gil)
    }

    /// Who has the GIL must not wait at the door for somebody who waits for the GIL. Threads of Python's own may have it at any
    /// time.
    fn may_wait_at_door(&self) -> bool {
        self.state.is_some() && !self.is_inside.get()
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
