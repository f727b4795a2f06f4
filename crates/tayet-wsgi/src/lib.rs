//! The native half of the Python package `tayet`: serves WSGI applications (PEP 3333) on Tayet's loops and threads.
//!
//! | to | go to |
//! | --- | --- |
//! | follow one request | `application.rs`, then `environ.rs`, `start_response.rs` and `iterable.rs` |
//! | see what the application reads | `input.rs` |
//! | see how threads and the GIL go together | `attachment.rs` |
//! | start and stop | `server.rs` |

mod application;
mod attachment;
mod descriptor;
mod environ;
mod file_wrapper;
mod header_names;
mod input;
mod iterable;
mod loan;
mod log;
mod reopening;
mod response_head;
mod server;
mod start_response;
mod text;
mod watch;
mod write_queue;

use pyo3::prelude::*;

/// What `tayet` imports as `tayet._tayet`.
#[pymodule(gil_used = false)]
mod _tayet {
    #[pymodule_export]
    use crate::file_wrapper::FileWrapper;
    #[pymodule_export]
    use crate::log::start_log;
    #[pymodule_export]
    use crate::server::Server;
}
