//! The floor for large files: what a loop costs that has the kernel send one file to whoever asks.
//!
//! As in floor-epoll, nothing is parsed: all requests are of one size, one at a time on a connection.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{env, io};

use peer_floor::{Ended, READ_BYTES, Service, head, receive, run};
use rustix::event::epoll::EventFlags;
use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

const USAGE: &str = "usage: floor-sendfile ADDRESS LOOPS FILE";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, file] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let file = File::open(file)?;
    let bytes = file.metadata()?.len();
    let answer = Arc::new(Answer { head: head(bytes, "").into_bytes(), file, bytes });
    let loops = 0..loops.parse().expect(USAGE);
    run(
        address,
        loops.map(|_: usize| {
            Ok(Sending { answer: Arc::clone(&answer), received: Vec::with_capacity(READ_BYTES) })
        }),
    )
}

struct Answer {
    head: Vec<u8>,
    file: File,
    bytes: u64,
}

struct Sending {
    answer: Arc<Answer>,
    received: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// How much of the file has been sent of the answer that is under way.
    sent: Option<u64>,
}

impl Service for Sending {
    type Connection = Connection;

    const INTEREST: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::ET);

    fn open(&self, socket: OwnedFd) -> Connection {
        Connection { socket, sent: None }
    }

    fn serve(&mut self, _: usize, connection: &mut Connection) -> Result<(), Ended> {
        loop {
            if let Some(sent) = &mut connection.sent {
                match sendfile(&connection.socket, &self.answer.file, Some(sent), self.answer.bytes as usize)
                {
                    Ok(_) if *sent < self.answer.bytes => continue,
                    Ok(_) => connection.sent = None,
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(_) => return Err(Ended),
                }
            }
            if !receive(&connection.socket, &mut self.received)? {
                return Ok(());
            }
            // The load has read the answer before, so that there is room for the head.
            match send(&connection.socket, &self.answer.head, SendFlags::NOSIGNAL | SendFlags::MORE) {
                Ok(count) if count == self.answer.head.len() => connection.sent = Some(0),
                _ => return Err(Ended),
            }
        }
    }
}
