//! The floor of servers on io_uring: what a loop costs that receives and sends and does nothing else, with all that the kernel offers
//! a ring that one thread uses: accepting and receiving go on by themselves, and what a turn sends goes with the one system call that
//! also waits.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::{env, io, thread};

use peer_floor::answers::{Answers, Asked};
use peer_floor::ring::{Event, RECEIVE_BYTES, Ring};
use peer_floor::{HELLO, listen_reusing_port};

const USAGE: &str = "usage: floor-io-uring ADDRESS LOOPS REQUEST_BYTES";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, loops, request_bytes] = arguments.as_slice() else { panic!("{USAGE}") };
    let address: SocketAddr = address.parse().expect(USAGE);
    let loops: usize = loops.parse().expect(USAGE);
    let request_bytes: usize = request_bytes.parse().expect(USAGE);
    // With what had come before, one more than a buffer holds.
    let answers = Answers::new(request_bytes, HELLO, RECEIVE_BYTES / request_bytes + 1);
    let answers: &'static Answers = Box::leak(Box::new(answers));
    let loops: Vec<_> = (0..loops).map(|_| thread::spawn(move || serve(address, answers))).collect();
    for floor in loops {
        floor.join().expect("a loop does not panic")?;
    }
    Ok(())
}

struct Connection {
    _socket: OwnedFd,
    /// Bytes of a request whose rest has not come yet.
    partial_bytes: usize,
}

/// One loop, on the thread that its ring is of.
fn serve(address: SocketAddr, answers: &'static Answers) -> io::Result<()> {
    let listener = listen_reusing_port(address)?;
    let mut ring = Ring::new(&listener)?;
    // By descriptor.
    let mut connections: Vec<Option<Connection>> = Vec::new();
    loop {
        ring.wait()?;
        while let Some(event) = ring.next()? {
            match event {
                Event::Accepted(socket) => {
                    let index = socket.as_raw_fd() as usize;
                    ring.receive(index)?;
                    if connections.len() <= index {
                        connections.resize_with(index + 1, || None);
                    }
                    connections[index] = Some(Connection { _socket: socket, partial_bytes: 0 });
                }
                Event::Received { index, count } => {
                    let Some(connection) = &mut connections[index] else { continue };
                    match answers.count(count, &mut connection.partial_bytes) {
                        Asked::Answers(0) => {}
                        // The load reads all that it asked for before it asks again: there is always room.
                        Asked::Answers(count) => ring.send(index, answers.batch(count).0)?,
                        Asked::Closing => ring.send_last(index, answers.closing())?,
                    }
                }
                Event::Ended { index } => connections[index] = None,
            }
        }
    }
}
