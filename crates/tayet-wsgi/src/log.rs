//! What the server says of itself, and what an application's errors leave.

use std::io;

use pyo3::prelude::*;
use tracing_subscriber::EnvFilter;

/// Logs to the standard error from here on, what `filter` (such as `info` or `tayet_engine=debug`) lets pass. Only the first
/// call counts.
#[pyfunction]
pub(crate) fn start_log(filter: &str) {
    let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter)).with_writer(io::stderr);
    // A second server of this process logs where the first does.
    let _ = log.with_ansi(false).try_init();
}

/// Writes an application's exception, with its traceback, to where Python's errors go.
pub(crate) fn print_exception(py: Python<'_>, doing: &str, error: &PyErr) {
    tracing::error!("{doing}");
    error.print(py);
}
