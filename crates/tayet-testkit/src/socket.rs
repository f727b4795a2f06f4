//! A connection's socket, as the server's other threads use it.

use std::io;
use std::time::Duration;

use tayet_net::Socket;

use crate::SimulatedNet;
use crate::wire::{Incoming, Wire};

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

impl SimulatedSocket {
    /// Moves the clock. The clients act meanwhile; what the test has scheduled waits, since its thread is here.
    fn wait_until(&self, is_so: fn(&Wire) -> bool, timeout: Duration) -> io::Result<()> {
        let mut world = self.net.lock();
        let deadline = world.now + timeout;
        while !is_so(&world.wires[self.client]) {
            if world.take_client_event(deadline).is_none() {
                world.now = world.now.max(deadline);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

impl Socket for SimulatedSocket {
    fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        let mut world = self.net.lock();
        assert!(!world.wires[self.client].is_sending(), "two write to one connection");
        world.server_send(self.client, head, tail)
    }

    fn wait_writable(&self, timeout: Duration) -> io::Result<()> {
        self.wait_until(Wire::is_writable, timeout)
    }

    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut world = self.net.lock();
        let wire = &world.wires[self.client];
        assert!(wire.is_lent || wire.is_closed(), "two receive from one connection");
        let mut max_bytes = wire.incoming_bytes().clamp(1, into.len());
        let per_mille = world.faults.short_read;
        if world.random.chance(per_mille) {
            max_bytes = world.random.size(1..=max_bytes);
        }
        match world.wires[self.client].receive(max_bytes) {
            Incoming::Bytes(bytes) => {
                world.wires[self.client].lent_bytes += bytes.len();
                into[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Incoming::Ended => Ok(0),
            Incoming::Reset => Err(io::ErrorKind::ConnectionReset.into()),
            Incoming::Nothing => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn wait_readable(&self, timeout: Duration) -> io::Result<()> {
        self.wait_until(Wire::is_readable, timeout)
    }

    fn shutdown(&self) {
        self.net.lock().server_close(self.client);
    }
}
