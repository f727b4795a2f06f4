//! The floor of the benchmarks: what a loop costs that reads and writes and does nothing else.
//!
//! Nothing is parsed. The load's requests are all of one size, so counting bytes tells how many there were, and each is
//! answered by a constant. A lone request of any other size is the load's way to say `Connection: close`.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{env, fs, io};

use peer_floor::{Ended, READ_BYTES, Service, head, receive, run};
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-epoll ADDRESS LOOPS REQUEST_BYTES [BODY_FILE]";
/// Answers written at once; a longer batch takes more writes.
const ANSWERS_AT_ONCE: usize = 64;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, request_bytes, body_file @ ..] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let request_bytes: usize = request_bytes.parse().expect(USAGE);
    let body = match body_file {
        [] => b"Hello, World!".to_vec(),
        [file] => fs::read(file)?,
        _ => panic!("{USAGE}"),
    };
    let answers = Arc::new(Answers::new(&body));
    let loops = 0..loops.parse().expect(USAGE);
    run(
        address,
        loops.map(|_: usize| {
            let received = Vec::with_capacity(READ_BYTES);
            Ok(Constant { request_bytes, answers: Arc::clone(&answers), received })
        }),
    )
}

struct Answers {
    one_bytes: usize,
    batch: Vec<u8>,
    closing: Vec<u8>,
}

impl Answers {
    fn new(body: &[u8]) -> Self {
        let answer = |connection| [head(body.len() as u64, connection).as_bytes(), body].concat();
        let one = answer("");
        let (batch, closing) = (one.repeat(ANSWERS_AT_ONCE), answer("Connection: close\r\n"));
        Self { one_bytes: one.len(), batch, closing }
    }
}

/// Answers by counting.
struct Constant {
    request_bytes: usize,
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
        let count = self.received.len();
        if count != self.request_bytes && count < 2 * self.request_bytes && connection.partial_bytes == 0 {
            let _ = send(&connection.socket, &self.answers.closing, SendFlags::NOSIGNAL);
            return Err(Ended);
        }
        let total = connection.partial_bytes + count;
        connection.partial_bytes = total % self.request_bytes;
        let mut left = total / self.request_bytes;
        while left > 0 {
            let batch = left.min(ANSWERS_AT_ONCE);
            let bytes = &self.answers.batch[..batch * self.answers.one_bytes];
            // The load reads all that it asked for before it asks again, so a short write means that it has gone.
            match send(&connection.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(written) if written == bytes.len() => left -= batch,
                _ => return Err(Ended),
            }
        }
        Ok(())
    }
}
