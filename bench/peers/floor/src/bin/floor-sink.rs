//! The floor for uploads: what a loop costs that reads bodies, counts them, and keeps nothing.
//!
//! All bodies are of one size, and no request comes before the last one is answered.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{env, io};

use peer_floor::{Ended, READ_BYTES, Service, head, receive, run};
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-sink ADDRESS LOOPS BODY_BYTES";
const HEAD_END: &[u8] = b"\r\n\r\n";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, body] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let body_bytes: usize = body.parse().expect(USAGE);
    let answer: Arc<[u8]> = [head(body.len() as u64, "").as_bytes(), body.as_bytes()].concat().into();
    let loops = 0..loops.parse().expect(USAGE);
    run(
        address,
        loops.map(|_: usize| {
            let received = Vec::with_capacity(READ_BYTES);
            Ok(Sink { body_bytes, answer: Arc::clone(&answer), received })
        }),
    )
}

struct Sink {
    body_bytes: usize,
    answer: Arc<[u8]>,
    received: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// What is still to come of the body; nothing before the request has begun.
    left_bytes: Option<usize>,
}

impl Service for Sink {
    type Connection = Connection;

    fn open(&self, socket: OwnedFd) -> Connection {
        Connection { socket, left_bytes: None }
    }

    fn serve(&mut self, _: usize, connection: &mut Connection) -> Result<(), Ended> {
        while receive(&connection.socket, &mut self.received)? {
            let left = match connection.left_bytes {
                Some(left) => left.checked_sub(self.received.len()).ok_or(Ended)?,
                None => self.body_bytes.checked_sub(body_bytes_in(&self.received)?).ok_or(Ended)?,
            };
            connection.left_bytes = (left > 0).then_some(left);
            if left == 0 {
                match send(&connection.socket, &self.answer, SendFlags::NOSIGNAL) {
                    Ok(count) if count == self.answer.len() => {}
                    _ => return Err(Ended),
                }
            }
        }
        Ok(())
    }
}

/// The load writes a head at once, so it comes at once.
fn body_bytes_in(received: &[u8]) -> Result<usize, Ended> {
    let head_end = received.windows(HEAD_END.len()).position(|window| window == HEAD_END).ok_or(Ended)?;
    Ok(received.len() - head_end - HEAD_END.len())
}
