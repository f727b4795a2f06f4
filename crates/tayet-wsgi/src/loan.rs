//! A reference lent to Python for the time of a call.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Where a reference lies while it is lent. Python objects cannot borrow, since nobody knows how long they live; they hold
/// this, and what they do with the reference comes to an end with [`Loan::lend`].
#[derive(Debug)]
pub(crate) struct Loan<T>(Mutex<Option<NonNull<T>>>);

// SAFETY: the pointer is only followed under the lock, by one thread at a time, while `lend` has its exclusive borrow; that
// is what sending a `&mut T` to another thread is, for which `T: Send` is enough.
unsafe impl<T: Send> Send for Loan<T> {}
// SAFETY: as above; the lock gives one thread at a time the exclusive reference.
unsafe impl<T: Send> Sync for Loan<T> {}

impl<T> Loan<T> {
    /// Nothing lent.
    pub(crate) fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// Lends `value` while `f` runs.
    pub(crate) fn lend<R>(&self, value: &mut T, f: impl FnOnce() -> R) -> R {
        *self.lock() = Some(NonNull::from(value));
        let _end = End(self);
        f()
    }

    /// Uses what is lent; `None` when nothing is.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut guard = self.lock();
        // SAFETY: the pointer comes from the exclusive reference that `lend` has borrowed. It takes the pointer out under
        // this lock before that borrow ends, and the lock keeps others from a second reference.
        guard.as_mut().map(|pointer| f(unsafe { pointer.as_mut() }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<NonNull<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes back what is lent, be it by a panic.
struct End<'a, T>(&'a Loan<T>);

impl<T> Drop for End<'_, T> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}
