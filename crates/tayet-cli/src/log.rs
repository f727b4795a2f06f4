//! What the command says of itself while it runs.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// The variable that chooses what is logged, such as `info` or `tayet_engine=debug`.
const VARIABLE: &str = "TAYET_LOG";
/// What is logged where it does not say: what goes wrong, what drives the sockets, and that the server shuts down.
const DEFAULT: &str = "warn,tayet::server=info,tayet_net::io_driver=info";

/// Logs to the standard error from here on.
pub(crate) fn start() {
    let wanted = std::env::var(VARIABLE);
    let filter = EnvFilter::new(wanted.as_deref().unwrap_or(DEFAULT));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // Nobody may be there to read it: telling that of the same place would panic in whoever logs.
        .log_internal_errors(false)
        .init();
}
