//! A connection's socket, as the server's other threads use it.

use std::io;
use std::time::Duration;

use tayet_net::Socket;

use crate::SimulatedNet;

/// The server's end of one connection.
pub(crate) struct SimulatedSocket {
    net: SimulatedNet,
    client: usize,
}

impl SimulatedSocket {
    pub(crate) fn new(net: SimulatedNet, client: usize) -> Self {
        Self { net, client }
    }
}

impl Socket for SimulatedSocket {
    fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        let mut world = self.net.lock();
        assert!(!world.wires[self.client].is_sending(), "two write to one connection");
        world.server_send(self.client, head, tail)
    }

    /// Moves the clock. The clients act meanwhile; what the test has scheduled waits, since its thread is here.
    fn wait_writable(&self, timeout: Duration) -> io::Result<()> {
        let mut world = self.net.lock();
        let deadline = world.now + timeout;
        while !world.wires[self.client].is_writable() {
            if world.take_client_event(deadline).is_none() {
                world.now = world.now.max(deadline);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    fn shutdown(&self) {
        self.net.lock().server_close(self.client);
    }
}
