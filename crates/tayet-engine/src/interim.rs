//! Interim responses: heads that come before an answer (RFC 9110 section 15.2), the `100 Continue` among them.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use tayet_net::Socket;

use crate::body_wire::when_writable;
use crate::peer::Peer;

/// How long the rest of an interim response may wait of which the client has taken a part.
const STALL_TIMEOUT_MS: u64 = 10_000;
/// Most that waits of interim responses that have earlier answers before them; what is more is left out.
const MAX_HELD_BYTES: usize = 16 * 1024;

/// What became of an interim response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interim {
    Sent,
    /// The client takes nothing just now.
    NotNow,
    /// The answer is on its way, or nobody is there.
    TooLate,
}

/// By which way a handler's interim responses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterimPath {
    /// Straight to the socket, where nothing of the loop's waits to be sent.
    Socket,
    /// The loop has gathered earlier answers, which only it can send: these wait for the request's own.
    BehindAnswers,
}

/// Interim responses that wait for the answer.
#[derive(Default)]
pub(crate) struct HeldInterims(RefCell<Vec<u8>>);

impl HeldInterims {
    /// Keeps one more, if there is room.
    pub(crate) fn hold(&self, head: &[u8]) -> Interim {
        let mut bytes = self.0.borrow_mut();
        if bytes.len() + head.len() > MAX_HELD_BYTES {
            return Interim::NotNow;
        }
        bytes.extend_from_slice(head);
        Interim::Sent
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.take()
    }
}

impl Peer {
    /// Sends an interim response, unless somebody has taken on the answer. For those who have the request: nothing else waits
    /// to be sent then.
    pub(crate) fn send_interim(&self, exchange: u32, head: &[u8]) -> io::Result<Interim> {
        let Some(socket) = self.socket() else { return Ok(Interim::TooLate) };
        self.unless_claimed(exchange, || send(&**socket, head)).unwrap_or(Ok(Interim::TooLate))
    }
}

/// Sends all of it or nothing. When neither was done nobody knows what the client has, so the connection ends.
fn send(socket: &dyn Socket, head: &[u8]) -> io::Result<Interim> {
    match send_whole(socket, head) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Interim::NotNow),
        Err(error) => {
            socket.shutdown();
            Err(error)
        }
        Ok(()) => Ok(Interim::Sent),
    }
}

fn send_whole(socket: &dyn Socket, head: &[u8]) -> io::Result<()> {
    let mut rest = &head[socket.send(head, &[])?..];
    while !rest.is_empty() {
        let stall_timeout = Duration::from_millis(STALL_TIMEOUT_MS);
        rest = &rest[when_writable(socket, stall_timeout, |socket| socket.send(rest, &[]))?..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A client that takes so many bytes and then, after a wait, some more.
    struct Narrow {
        room: Mutex<Vec<usize>>,
        taken: Mutex<Vec<u8>>,
        is_shut: Mutex<bool>,
    }

    impl Narrow {
        fn new(room: &[usize]) -> Self {
            Self { room: Mutex::new(room.to_vec()), taken: Mutex::default(), is_shut: Mutex::default() }
        }
    }

    impl Socket for Narrow {
        fn send(&self, head: &[u8], _: &[u8]) -> io::Result<usize> {
            let count = match self.room.lock().unwrap().first_mut() {
                Some(room) => std::mem::take(room).min(head.len()),
                None => 0,
            };
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.taken.lock().unwrap().extend_from_slice(&head[..count]);
            Ok(count)
        }

        fn wait_writable(&self, _: Duration) -> io::Result<()> {
            let mut room = self.room.lock().unwrap();
            if room.len() < 2 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            room.remove(0);
            Ok(())
        }

        fn shutdown(&self) {
            *self.is_shut.lock().unwrap() = true;
        }
    }

    #[test]
    fn a_client_that_takes_it_bit_by_bit_gets_it_whole() {
        let socket = Narrow::new(&[3, 2, 100]);
        assert_eq!(send(&socket, b"0123456789").unwrap(), Interim::Sent);
        assert_eq!(*socket.taken.lock().unwrap(), b"0123456789");
    }

    #[test]
    fn a_client_that_takes_nothing_is_not_waited_for() {
        let socket = Narrow::new(&[]);
        assert_eq!(send(&socket, b"0123456789").unwrap(), Interim::NotNow);
        assert!(!*socket.is_shut.lock().unwrap());
    }

    #[test]
    fn half_an_interim_response_ends_the_connection() {
        let socket = Narrow::new(&[3]);
        assert_eq!(send(&socket, b"0123456789").unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(*socket.is_shut.lock().unwrap());
    }

    #[test]
    fn what_is_held_has_a_bound() {
        let held = HeldInterims::default();
        assert_eq!(held.hold(&[b'x'; MAX_HELD_BYTES]), Interim::Sent);
        assert_eq!(held.hold(b"y"), Interim::NotNow);
        assert_eq!(held.take(), [b'x'; MAX_HELD_BYTES]);
        assert_eq!(held.take(), b"");
    }
}
