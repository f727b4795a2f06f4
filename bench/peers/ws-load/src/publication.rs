//! Messages that are published to all sockets, one at a time.

use std::time::Duration;

use anyhow::ensure;

use crate::clock::Moment;
use crate::sockets::{Arrival, Sockets};

const MESSAGE_BYTES: usize = 128;
/// How long it may take until all have it.
const DELIVERY_LIMIT: Duration = Duration::from_secs(60);

/// What has been published so far, and who has received it.
pub struct Publications {
    /// How many have been received, by socket.
    received: Vec<u32>,
    count: u32,
}

/// When a message was published, and when the last socket had it.
#[derive(Clone, Copy)]
pub struct Delivered {
    pub published: Moment,
    pub last_receipt: Moment,
}

impl Publications {
    /// None yet, to so many sockets.
    pub fn new(sockets: usize) -> Self {
        Self { received: vec![0; sockets], count: 0 }
    }

    /// Publishes a message on the first socket and waits until all have it.
    pub fn publish(&mut self, sockets: &mut Sockets) -> anyhow::Result<Delivered> {
        self.count += 1;
        let message = message(self.count);
        let published = Moment::now();
        sockets.send(0, &message, false)?;
        let deadline = published.after(DELIVERY_LIMIT);
        let mut left = sockets.len();
        while left > 0 {
            sockets.receive(DELIVERY_LIMIT, |arrival| {
                self.accept(&arrival, &message)?;
                left -= 1;
                Ok(())
            })?;
            ensure!(left == 0 || Moment::now() < deadline, "{left} sockets did not get a publication");
        }
        Ok(Delivered { published, last_receipt: Moment::now() })
    }

    fn accept(&mut self, arrival: &Arrival<'_>, message: &[u8]) -> anyhow::Result<()> {
        ensure!(arrival.payload == message, "a socket got something else than the publication");
        let received = &mut self.received[arrival.index];
        *received += 1;
        ensure!(*received == self.count, "a socket got a publication twice, or missed one");
        Ok(())
    }
}

fn message(number: u32) -> Vec<u8> {
    let mut message = format!("publication {number} ").into_bytes();
    message.resize(MESSAGE_BYTES, b'.');
    message
}
