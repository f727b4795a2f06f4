//! Sending what writers of bodies leave gathered while they are busy with what comes next.

use std::sync::{Arc, Weak};

use crate::body_wire::{BodyWire, Found};
use crate::sync::{Mutex, lock};

/// The wires whose writers have asked for it ([`BodyWriter::write_soon`](crate::BodyWriter::write_soon)). The monitor looks at
/// them at each tick.
#[derive(Default)]
pub(crate) struct Flusher {
    wires: Mutex<Vec<Weak<Mutex<BodyWire>>>>,
}

impl Flusher {
    /// Looks after a wire until it is dropped, or has sent what there is.
    pub(crate) fn watch(&self, wire: &Arc<Mutex<BodyWire>>) {
        lock(&self.wires).push(Arc::downgrade(wire));
    }

    /// Whether there is nothing to look after.
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.wires).is_empty()
    }

    /// Sends what was there at the last look already. `true` when there is something that the next look should find soon.
    pub(crate) fn look(&self) -> bool {
        let mut is_pressing = false;
        lock(&self.wires).retain(|wire| {
            let Some(wire) = wire.upgrade() else { return false };
            // Whoever has its lock is sending.
            let Ok(mut wire) = wire.try_lock() else { return true };
            let found = wire.look();
            is_pressing |= found == Found::Fresh;
            found != Found::Nothing
        });
        is_pressing
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tayet_net::Socket;

    use super::*;
    use crate::answer::BodyFraming;

    /// Counts the bytes that it takes.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Socket for Counting {
        fn send(&self, first: &[u8], second: &[u8]) -> io::Result<usize> {
            let count = first.len() + second.len();
            self.0.fetch_add(count, Ordering::Relaxed);
            Ok(count)
        }

        fn wait_writable(&self, _: Duration) -> io::Result<()> {
            panic!("it waits for the client")
        }

        fn shutdown(&self) {}
    }

    #[test]
    fn a_wire_is_looked_after_while_it_has_something_to_send() {
        let socket = Arc::new(Counting::default());
        let sent = || socket.0.load(Ordering::Relaxed);
        let flusher = Flusher::default();
        let framing = BodyFraming::UntilClose;
        let wire = BodyWire::new(Arc::clone(&socket) as _, Duration::from_secs(1), framing, Vec::new());
        let wire = Arc::new(Mutex::new(wire));
        flusher.watch(&wire);
        lock(&wire).write_soon(b"abc").unwrap();
        assert!(flusher.look(), "it is to look again");
        let sending = lock(&wire);
        assert!(!flusher.look() && sent() == 0, "it does not wait for one who sends");
        drop(sending);
        assert!(!flusher.look() && sent() == 3);
        assert!(flusher.is_idle(), "there is nothing to look after until something is written");
        flusher.watch(&wire);
        lock(&wire).write_soon(b"d").unwrap();
        drop(wire);
        assert!(!flusher.look() && flusher.is_idle());
    }
}
