//! The floor of the benchmarks: what a loop costs that reads and writes and does nothing else.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{env, fs, io};

use peer_floor::answers::{Answers, Asked};
use peer_floor::{Ended, HELLO, READ_BYTES, Service, receive, run};
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-epoll ADDRESS LOOPS REQUEST_BYTES [BODY_FILE]";
/// Answers written at once; a longer batch takes more writes.
const ANSWERS_AT_ONCE: usize = 64;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, request_bytes, body_file @ ..] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let body = match body_file {
        [] => HELLO.to_vec(),
        [file] => fs::read(file)?,
        _ => panic!("{USAGE}"),
    };
    let answers = Arc::new(Answers::new(request_bytes.parse().expect(USAGE), &body, ANSWERS_AT_ONCE));
    let loops = 0..loops.parse().expect(USAGE);
    run(
        address,
        loops.map(|_: usize| {
            let received = Vec::with_capacity(READ_BYTES);
            Ok(Constant { answers: Arc::clone(&answers), received })
        }),
    )
}

/// Answers by counting.
struct Constant {
    answers: Arc<Answers>,
    received: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// Bytes of a request whose rest has not come yet.
    partial_bytes: usize,
}

impl Service for Constant {
    type Connection = Connection;

    fn open(&self, socket: OwnedFd) -> Connection {
        Connection { socket, partial_bytes: 0 }
    }

    fn serve(&mut self, _: usize, connection: &mut Connection) -> Result<(), Ended> {
        if !receive(&connection.socket, &mut self.received)? {
            return Ok(());
        }
        let mut left = match self.answers.count(self.received.len(), &mut connection.partial_bytes) {
            Asked::Answers(count) => count,
            Asked::Closing => {
                let _ = send(&connection.socket, self.answers.closing(), SendFlags::NOSIGNAL);
                return Err(Ended);
            }
        };
        while left > 0 {
            let (bytes, count) = self.answers.batch(left);
            // The load reads all that it asked for before it asks again, so a short write means that it has gone.
            match send(&connection.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(written) if written == bytes.len() => left -= count,
                _ => return Err(Ended),
            }
        }
        Ok(())
    }
}
