//! What a connection's loop shares with the threads that answer its requests.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tayet_net::{Outgoing, PeerAddress, Socket, Token};

use crate::Topics;
use crate::answer::Unsent;
use crate::home::Home;
use crate::mailbox::Message;
use crate::report::Outcome;
use crate::sync::{Mutex, lock};

/// A connection, as those who handle its requests see it.
pub(crate) struct Peer {
    pub(crate) token: Token,
    pub(crate) address: PeerAddress,
    pub(crate) local: PeerAddress,
    /// `None` in requests that tests make.
    link: Option<Link>,
    /// The peer has gone, or has ended its sending direction.
    disconnected: AtomicBool,
    /// The loop has something for the connection as soon as it is free again.
    awaited: AtomicBool,
    /// The last exchange whose answer somebody has taken on: see [`Peer::claim`]. Locked while an interim response is written.
    claimed: Mutex<u32>,
}

#[derive(Clone)]
struct Link {
    home: Arc<Home>,
    socket: Arc<dyn Socket>,
}

impl Peer {
    pub(crate) fn new(
        token: Token,
        address: PeerAddress,
        local: PeerAddress,
        home: Arc<Home>,
        socket: Arc<dyn Socket>,
    ) -> Self {
        Self { link: Some(Link { home, socket }), token, address, local, ..Self::unconnected() }
    }

    /// The same connection, as its proxy describes it. For before the first request: nobody else has a handle yet.
    pub(crate) fn behind_proxy(&self, address: PeerAddress, local: PeerAddress) -> Self {
        let link = self.link.clone();
        Self { token: self.token, address, local, link, ..Self::unconnected() }
    }

    /// One without a connection, for requests that tests make.
    pub(crate) fn unconnected() -> Self {
        Self {
            token: Token { index: 0, generation: 0 },
            address: PeerAddress::Unix,
            local: PeerAddress::Unix,
            link: None,
            disconnected: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            claimed: Mutex::new(0),
        }
    }

    /// Tells the loop something that it must know now.
    pub(crate) fn tell_loop(&self, message: Message) {
        if let Some(link) = &self.link {
            link.home.mailbox.post(message);
        }
    }

    /// Sends an answer as far as the socket takes it now. For whoever has claimed it, while nothing else waits to be sent. What
    /// is left takes `head` along.
    pub(crate) fn send_answer(&self, head: &mut Vec<u8>, tail: Bytes, keep_alive: bool) -> Outcome {
        let Some(socket) = self.socket() else { return Outcome::Broken };
        let total = head.len() + tail.len();
        let sent = match socket.send(head, &tail) {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return Outcome::Broken,
        };
        if sent == total {
            return Outcome::Sent { keep_alive, bytes: total as u64 };
        }
        let head = std::mem::take(head);
        Outcome::Rest(Box::new(Unsent { outgoing: Outgoing { head, tail, sent }, keep_alive }))
    }

    pub(crate) fn home(&self) -> Option<&Arc<Home>> {
        self.link.as_ref().map(|link| &link.home)
    }

    pub(crate) fn socket(&self) -> Option<&Arc<dyn Socket>> {
        self.link.as_ref().map(|link| &link.socket)
    }

    pub(crate) fn topics(&self) -> Option<&Topics> {
        self.link.as_ref().map(|link| &link.home.topics)
    }

    pub(crate) fn is_disconnected(&self) -> bool {
        self.disconnected.load(Ordering::Relaxed)
    }

    pub(crate) fn set_disconnected(&self) {
        self.disconnected.store(true, Ordering::Relaxed);
    }

    /// Whether the loop waits for the connection to be free.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Relaxed)
    }

    /// The loop's: whether it waits for the connection to be free. Ordered by the mailbox's lock, which the loop takes
    /// before it sleeps and the answering thread when it looks.
    pub(crate) fn set_awaited(&self, awaited: bool) {
        self.awaited.store(awaited, Ordering::Relaxed);
    }

    /// Takes on the answer of `exchange`; `false` when another has. The handler's answer and the loop's time-out race for
    /// it; a connection has one exchange at a time, so any other number means that nobody has.
    pub(crate) fn claim(&self, exchange: u32) -> bool {
        std::mem::replace(&mut *lock(&self.claimed), exchange) != exchange
    }

    /// Does something that must come before the answer of `exchange`, which waits meanwhile; `None` when somebody has taken it
    /// on.
    pub(crate) fn unless_claimed<R>(&self, exchange: u32, before: impl FnOnce() -> R) -> Option<R> {
        let claimed = lock(&self.claimed);
        (*claimed != exchange).then(before)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("token", &self.token)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_an_answer_does_not_come_once_somebody_has_taken_it_on() {
        let peer = Peer::unconnected();
        assert_eq!(peer.unless_claimed(1, || "before"), Some("before"));
        assert!(peer.claim(1));
        assert_eq!(peer.unless_claimed(1, || "too late"), None);
        assert!(!peer.claim(1));
        assert_eq!(peer.unless_claimed(2, || "before the next"), Some("before the next"));
    }
}
