//! Connections that have asked once and stay: what they take, and whether others are served beside them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::client::Connection;
use super::system_limits::require_descriptors;

/// What a connection may wait for its answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// After so many connections that got no answer, it is clear that no more can be had.
const MAX_UNANSWERED: usize = 3;
/// How long gathering all may take; shorter than any server's keep-alive time here.
const GATHER_LIMIT: Duration = Duration::from_secs(30);
/// Descriptors that the harness needs beside those of its connections.
const RESERVED_DESCRIPTORS: usize = 500;

/// Idle keep-alive connections, each with one answer received.
pub(super) struct Crowd {
    connections: Vec<Connection>,
}

/// How many connections of a group that asked at the same moment were answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answered {
    pub(super) count: usize,
    /// Until the last answer, or until it was clear that there are no more.
    pub(super) slowest: Duration,
}

impl Crowd {
    /// Opens up to `size` connections to the server, one after the other; fewer when it stops answering.
    pub(super) fn gather(address: SocketAddr, path: &str, size: usize) -> anyhow::Result<Self> {
        require_descriptors(size + RESERVED_DESCRIPTORS)?;
        let deadline = Instant::now() + GATHER_LIMIT;
        let mut crowd = Self { connections: Vec::new() };
        let mut unanswered = Vec::new();
        while crowd.len() < size && unanswered.len() < MAX_UNANSWERED && Instant::now() < deadline {
            let Ok(mut connection) = Connection::open(address, ANSWER_LIMIT) else { break };
            match connection.get(path) {
                Ok(_) => crowd.connections.push(connection),
                Err(_) => unanswered.push(connection),
            }
        }
        Ok(crowd)
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }
}

/// Opens `size` connections, sends a request on each, then waits for the answers. The connections stay open until all
/// have been waited for; one that cannot even be opened is not answered.
pub(super) fn ask_at_once(address: SocketAddr, path: &str, size: usize) -> Answered {
    let opened = (0..size).map_while(|_| Connection::open(address, ANSWER_LIMIT).ok());
    let mut connections: Vec<_> = opened.collect();
    let start = Instant::now();
    connections.retain_mut(|connection| connection.send(path).is_ok());
    let mut count = 0;
    for connection in &mut connections {
        let left = ANSWER_LIMIT.saturating_sub(start.elapsed());
        count += usize::from(connection.receive_within(left).is_ok());
    }
    Answered { count, slowest: start.elapsed() }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    /// Answers each of so many connections once and keeps them open; the rest gets no answer.
    fn serve(answered: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let mut kept: Vec<TcpStream> = Vec::new();
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                if kept.len() < answered {
                    assert!(connection.read(&mut [0; 512]).unwrap() > 0);
                    connection.write_all(ANSWER).unwrap();
                }
                kept.push(connection);
            }
        });
        address
    }

    #[test]
    fn a_crowd_is_as_large_as_the_server_lets_it_be() {
        assert_eq!(Crowd::gather(serve(10), "/", 10).unwrap().len(), 10);
        assert_eq!(Crowd::gather(serve(4), "/", 10).unwrap().len(), 4);
    }

    #[test]
    fn a_server_that_is_gone_answers_nothing() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(ask_at_once(address, "/", 8).count, 0);
        assert_eq!(Crowd::gather(address, "/", 8).unwrap().len(), 0);
    }

    #[test]
    fn answers_are_counted() {
        assert_eq!(ask_at_once(serve(8), "/", 8).count, 8);
        assert_eq!(ask_at_once(serve(3), "/", 8).count, 3);
    }
}
