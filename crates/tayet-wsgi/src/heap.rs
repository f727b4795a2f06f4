//! What is free of the heap.
#![allow(unsafe_code, reason = "the C library's call has no safe interface")]

use pyo3::prelude::*;

/// Gives the system back what is free in the C library's heap. To load an application takes megabytes, in pieces that the library
/// would keep for later.
#[pyfunction]
pub(crate) fn give_back_memory(py: Python<'_>) {
    py.detach(trim);
}

#[cfg(target_env = "gnu")]
fn trim() {
    // SAFETY: it may be called by any thread at any time, takes a number of bytes to keep, and touches only what is free.
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries give it back by themselves, or have no call for it.
#[cfg(not(target_env = "gnu"))]
fn trim() {}
