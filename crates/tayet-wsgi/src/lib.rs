//! The native half of the Python package `tayet`: serves WSGI applications (PEP 3333) on Tayet's loops and threads.
//!
//! | to | go to |
//! | --- | --- |
//! | follow one request | `application.rs`, then `environ.rs`, `callables.rs`, `start_response.rs` and `iterable.rs` |
//! | see what the application reads | `input.rs` |
//! | see how threads and the GIL go together | `attachment.rs` |
//! | follow one WebSocket | `web_socket_calls.rs`, then `web_socket.rs`, `listener.rs` and `inbox.rs` |
//! | see how workers hear of each other's publications | `topics.rs`, `relay.rs` |
//! | start and stop | `server.rs` |

mod application;
mod attachment;
mod callables;
mod descriptor;
mod door;
mod environ;
mod file_wrapper;
mod header_fields;
mod inbox;
mod input;
mod iterable;
mod listener;
mod loan;
mod log;
mod memory;
mod peers;
mod relay;
mod reopening;
mod response_head;
mod server;
mod start_response;
mod text;
mod topics;
mod watch;
mod web_socket;
mod web_socket_calls;
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
    use crate::memory::give_back_memory;
    #[pymodule_export]
    use crate::server::Server;
    #[pymodule_export]
    use crate::topics::Topics;
    #[pymodule_export]
    use crate::web_socket::{WebSocket, WebSocketClosed};
}
