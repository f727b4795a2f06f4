//! The floor, and what reading requests adds to it.
//!
//! Each head is parsed by httparse, and its fields are looked at no further; the answer is the bare loop's constant,
//! copied once for each request. It stands between the bare loop and an HTTP server: no route, no handler, no clock, no
//! limit, no answer that depends on the request.

use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{env, io};

use httparse::Status;
use peer_floor::{Ended, HELLO, READ_BYTES, Service, head, receive, run};
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-parsing ADDRESS LOOPS";
const MAX_FIELDS: usize = 64;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let answer: Arc<[u8]> = [head(HELLO.len() as u64, "").as_bytes(), HELLO].concat().into();
    let loops = 0..loops.parse().expect(USAGE);
    run(
        address,
        loops.map(|_: usize| {
            let received = Vec::with_capacity(READ_BYTES);
            Ok(Parsing { answer: Arc::clone(&answer), received, answers: Vec::new() })
        }),
    )
}

struct Parsing {
    answer: Arc<[u8]>,
    received: Vec<u8>,
    answers: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// A head whose rest has not come yet.
    partial: Vec<u8>,
}

impl Service for Parsing {
    type Connection = Connection;

    fn open(&self, socket: OwnedFd) -> Connection {
        Connection { socket, partial: Vec::new() }
    }

    fn serve(&mut self, _: usize, connection: &mut Connection) -> Result<(), Ended> {
        if !receive(&connection.socket, &mut self.received)? {
            return Ok(());
        }
        let input = if connection.partial.is_empty() {
            &self.received
        } else {
            connection.partial.extend_from_slice(&self.received);
            &connection.partial
        };
        self.answers.clear();
        let mut rest = input.as_slice();
        while let Some(head_bytes) = parse(rest)? {
            rest = &rest[head_bytes..];
            self.answers.extend_from_slice(&self.answer);
        }
        connection.partial = rest.to_vec();
        if self.answers.is_empty() {
            return Ok(());
        }
        // The load reads all that it asked for before it asks again, so a short write means that it has gone.
        match send(&connection.socket, &self.answers, SendFlags::NOSIGNAL) {
            Ok(written) if written == self.answers.len() => Ok(()),
            _ => Err(Ended),
        }
    }
}

/// The length of the head that `input` begins with, if all of it is there.
fn parse(input: &[u8]) -> Result<Option<usize>, Ended> {
    if input.is_empty() {
        return Ok(None);
    }
    let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    match httparse::Request::new(&mut []).parse_with_uninit_headers(input, &mut fields) {
        Ok(Status::Complete(length)) => Ok(Some(length)),
        Ok(Status::Partial) => Ok(None),
        Err(_) => Err(Ended),
    }
}
