//! What an application answers by, made once and used for call after call.
#![allow(unsafe_code, reason = "reference counts, which PyO3 leaves to its foreign functions")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;

use crate::start_response::{Answer, StartResponse};

/// Those that are kept: more calls than this seldom wait for something at once.
const MAX_SPARE: usize = 64;

/// The `start_response` of a call, and the `write` that it returns: bound methods, which Python calls without packing what it gives
/// them.
pub(crate) struct Callables {
    answer: Py<Answer>,
    owner: Py<StartResponse>,
    start_response: Py<PyAny>,
}

impl Callables {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let answer = Bound::new(py, Answer::new())?;
        let write = answer.getattr(intern!(py, "write"))?;
        let owner = Bound::new(py, StartResponse::new(answer.clone().unbind(), write.unbind()))?;
        let start_response = owner.getattr(intern!(py, "start_response"))?.unbind();
        Ok(Self { answer: answer.unbind(), owner: owner.unbind(), start_response })
    }

    /// What the application says by them.
    pub(crate) fn answer(&self) -> &Py<Answer> {
        &self.answer
    }

    pub(crate) fn start_response<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.start_response.bind(py)
    }

    /// Whether nobody else has any of them: then nobody can tell that they have been used before.
    fn are_unshared(&self, py: Python<'_>) -> bool {
        let write = self.owner.get().write();
        references(py, &self.start_response) == 1
            && references(py, write) == 1
            // This, and the method that is bound to it.
            && references(py, &self.owner) == 2
            // This, the owner, and `write`.
            && references(py, &self.answer) == 3
    }
}

/// Those that no call has.
#[derive(Default)]
pub(crate) struct SpareCallables(Mutex<Vec<Callables>>);

impl SpareCallables {
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Callables> {
        // Nothing is made under the lock, as in `Environ::begin`.
        let spare = self.lock().pop();
        spare.map_or_else(|| Callables::new(py), Ok)
    }

    /// Takes them back, unless the application has kept any of them.
    pub(crate) fn give_back(&self, py: Python<'_>, callables: Callables) {
        if !callables.are_unshared(py) {
            return;
        }
        callables.answer.get().forget();
        let mut spare = self.lock();
        if spare.len() < MAX_SPARE {
            spare.push(callables);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Callables>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn references<T>(_py: Python<'_>, object: &Py<T>) -> isize {
    // SAFETY: `object` is a reference to a live object, and this thread is attached to the interpreter.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}
