//! What the server says of itself, and what an application's errors leave.

use std::io;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Logs to the standard error from here on, what `filter` (such as `info` or `tayet_engine=debug`) lets pass. Only the first
/// call counts.
///
/// # Errors
///
/// `ValueError` for what is no filter.
#[pyfunction]
pub(crate) fn start_log(filter: &str) -> PyResult<()> {
    // By targets and levels alone: what filters by fields too keeps a megabyte of automata.
    let filter: Targets =
        filter.parse().map_err(|error| PyValueError::new_err(format!("TAYET_LOG={filter}: {error}")))?;
    let log =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).log_internal_errors(false);
    // A second server of this process logs where the first does.
    let _ = tracing_subscriber::registry().with(filter).with(log).try_init();
    Ok(())
}

/// Writes an application's exception, with its traceback, to where Python's errors go.
pub(crate) fn print_exception(py: Python<'_>, doing: &str, error: &PyErr) {
    tracing::error!("{doing}");
    error.print(py);
}
