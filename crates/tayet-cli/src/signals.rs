//! When the command is to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator;

/// SIGTERM and SIGINT: the first is waited for, a second one ends the process at once.
pub(crate) struct Signals(iterator::Signals);

impl Signals {
    /// Listens to them from here on.
    pub(crate) fn new() -> io::Result<Self> {
        let is_signalled = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            flag::register_conditional_default(signal, Arc::clone(&is_signalled))?;
            flag::register(signal, Arc::clone(&is_signalled))?;
        }
        iterator::Signals::new([SIGTERM, SIGINT]).map(Self)
    }

    /// Returns when the first has come.
    pub(crate) fn wait(mut self) {
        self.0.forever().next();
    }
}
