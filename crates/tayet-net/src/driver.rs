//! The face of a poller: operations in, completions out.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustix::io::Errno;

use crate::{Companion, Listener, Moment, PeerAddress, Socket, Waker};

/// Multiplexes the I/O of one loop.
///
/// A driver may move between threads (a loop is a value), but only its holder calls it. Each connection has at most one
/// send under way; receiving goes on by itself from [`Driver::attach`] to [`Driver::detach`], unless paused.
pub trait Driver: Send {
    /// Accepts connections until [`Driver::stop_accepting`]. `index` comes back in [`Completion::Accepted`].
    ///
    /// # Errors
    ///
    /// When the listener cannot be registered.
    fn listen(&mut self, index: usize, listener: Arc<Listener>) -> io::Result<()>;

    /// Pauses or resumes accepting, on all listeners.
    fn set_accepting(&mut self, accepting: bool);

    /// Lets the listeners go.
    fn stop_accepting(&mut self);

    /// Gives the connection of the last [`Completion::Accepted`] its token and starts to receive on it. A connection that
    /// is not attached before the next call of [`Driver::next`] is closed. The token must not be in use.
    ///
    /// # Errors
    ///
    /// When it cannot be registered; the connection is then closed.
    fn attach(&mut self, token: Token) -> io::Result<()>;

    /// Gives the connection of the last [`Completion::Accepted`] away, for another loop's driver. `None` where it cannot be.
    fn take_accepted(&mut self) -> Option<OwnedFd>;

    /// Takes a connection in that another loop has accepted: [`Driver::attach`] is the next call.
    fn put_accepted(&mut self, socket: OwnedFd);

    /// Pauses or resumes receiving. What comes meanwhile stays with the kernel; of what had come before, and was received ahead
    /// ([`Driver::received_ahead`]), one completion may still tell.
    fn set_receiving(&mut self, token: Token, receiving: bool);

    /// Leaves receiving to others, who do it by [`Driver::socket`], until [`Driver::set_receiving`] asks for it again; nothing is
    /// told of the connection's input meanwhile. `false`, and nothing done, where that cannot be: where the driver has received ahead
    /// what is still to be told of, or an end has been told.
    fn lend_receiving(&mut self, token: Token) -> bool;

    /// Sends some of `outgoing`, at least a byte: at once, or it is taken (an empty one is left) and comes back with a
    /// [`Completion::Sent`].
    fn send(&mut self, token: Token, outgoing: &mut Outgoing) -> Submitted;

    /// Sends what goes at once of each of these, on connections without a send under way, one behind the other with little code in
    /// between; [`BatchedSend::sent`] says how much that was. For the rest [`Driver::send`] is the way, which says too why nothing
    /// more went.
    fn send_batch(&mut self, sends: &mut [BatchedSend]);

    /// Says so once, by a [`Completion::Writable`], when something can be sent again or sending would fail; at once, if that is so
    /// already, and now and then too early. It counts as a send under way: for those who send by [`Driver::socket`] and found
    /// that it takes no more.
    fn await_writable(&mut self, token: Token);

    /// Ends the sending direction: the peer reads an end of file behind what was sent.
    fn shutdown_send(&mut self, token: Token);

    /// What of its owner's is needed whenever something is told of this connection, and may be fetched into the processor's caches
    /// before. A driver need not make anything of it.
    fn set_companion(&mut self, token: Token, companion: Companion) {
        let _ = (token, companion);
    }

    /// Lets the connection go; its socket closes with its last handle. No completion comes for it afterwards.
    fn detach(&mut self, token: Token);

    /// The part of a connection that other threads may use.
    fn socket(&self, token: Token) -> Option<Arc<dyn Socket>>;

    /// Waits for at least one completion, a wake-up, or the timeout (`None` is for ever). Returns at once if there are
    /// completions left. It may end sooner with nothing, as when the time of an earlier wait is up.
    ///
    /// # Errors
    ///
    /// Only when the poller itself is broken.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()>;

    /// The next completion; `None` when a new [`Driver::wait`] is due. Ends the life of what [`Driver::received`] gave.
    fn next(&mut self) -> Option<Completion>;

    /// The bytes of the [`Completion::Received`] that came last.
    fn received(&self) -> &[u8];

    /// Whom the next completions concern, in order, as far as these tell of bytes that have been received already: of other
    /// connections than the last told of, each once.
    fn received_ahead(&self) -> &[Token];

    /// Wakes this driver from other threads.
    fn waker(&self) -> Waker;

    /// The time, for deadlines. A simulated driver has its own.
    fn now(&mut self) -> Moment;

    /// The time for what need not know it to the microsecond, up to some 5 µs old (16 on the slowest of processors), and
    /// quicker to read. Neither of the two is ever before what the other has told.
    fn now_roughly(&mut self) -> Moment {
        self.now()
    }
}

/// A connection within a loop: a place and the generation of who has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token {
    /// The place; small numbers, used again.
    pub index: u32,
    /// Tells apart those who have had the place.
    pub generation: u32,
}

impl Token {
    /// As one word.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// From [`Token::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// What happened.
#[derive(Debug)]
pub enum Completion {
    /// A peer connected: see [`Driver::attach`].
    Accepted {
        /// The listener, as given to [`Driver::listen`].
        listener: usize,
        /// The other end.
        peer: PeerAddress,
    },
    /// Accepting failed. The driver has paused accepting if going on at once would fail again.
    AcceptFailed(AcceptError),
    /// So many bytes came: see [`Driver::received`], until the next call of [`Driver::next`].
    Received(Token, usize),
    /// The peer has ended its sending direction.
    Ended(Token),
    /// The connection is broken.
    Broken(Token, io::Error),
    /// A [`Driver::send`] that did not finish at once has.
    Sent(Token, Box<Outgoing>, io::Result<usize>),
    /// What [`Driver::await_writable`] waited for.
    Writable(Token),
}

/// Why accepting failed.
#[derive(Debug)]
pub enum AcceptError {
    /// Out of descriptors or memory: accepting is paused until [`Driver::set_accepting`].
    Exhausted(io::Error),
    /// This one connection failed; accepting goes on.
    Connection(io::Error),
}

impl From<Errno> for AcceptError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => Self::Exhausted(error.into()),
            _ => Self::Connection(error.into()),
        }
    }
}

/// Bytes that are sent with those for other connections, by [`Driver::send_batch`].
#[derive(Debug)]
pub struct BatchedSend {
    /// To whom.
    pub token: Token,
    /// What.
    pub bytes: Vec<u8>,
    /// How much of it has been sent.
    pub sent: usize,
}

/// Bytes on their way out: a head (and what was gathered with it), then a tail that is not copied.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Sent first.
    pub head: Vec<u8>,
    /// Sent behind it.
    pub tail: Bytes,
    /// How much of both has been sent.
    pub sent: usize,
}

impl Outgoing {
    /// What is left of the head and of the tail.
    pub fn rest(&self) -> (&[u8], &[u8]) {
        match self.head.get(self.sent..) {
            Some(head) => (head, &self.tail),
            None => (&[], &self.tail[self.sent - self.head.len()..]),
        }
    }

    /// Sends what `socket` takes of it, and counts that in.
    #[inline]
    pub(crate) fn send_some(&mut self, socket: &impl Socket) -> io::Result<usize> {
        let (head, tail) = self.rest();
        let count = socket.send(head, tail)?;
        self.sent += count;
        Ok(count)
    }

    /// Empties it, and keeps the head's room unless that is more than `most_bytes`.
    #[inline]
    pub fn clear(&mut self, most_bytes: usize) {
        self.head.clear();
        if self.head.capacity() > most_bytes {
            self.head = Vec::new();
        }
        if !self.tail.is_empty() {
            self.tail = Bytes::new();
        }
        self.sent = 0;
    }

    /// How many bytes are left.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.head.len() + self.tail.len() - self.sent
    }
}

/// Where an operation stands when the call returns.
#[derive(Debug)]
pub enum Submitted {
    /// Finished; so many bytes were sent.
    Done(io::Result<usize>),
    /// A completion will come, with what was to be sent.
    Pending,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_word() {
        let token = Token { index: 7, generation: u32::MAX };
        assert_eq!(Token::from_bits(token.to_bits()), token);
    }

    #[test]
    fn what_is_cleared_keeps_room_up_to_its_bound() {
        let mut outgoing =
            Outgoing { head: Vec::with_capacity(16), tail: Bytes::from_static(b"tail"), sent: 2 };
        outgoing.clear(16);
        assert_eq!((outgoing.remaining(), outgoing.sent, outgoing.head.capacity()), (0, 0, 16));
        outgoing.clear(15);
        assert_eq!(outgoing.head.capacity(), 0);
    }

    #[test]
    fn the_rest_crosses_from_head_to_tail() {
        let mut outgoing = Outgoing { head: b"head".to_vec(), tail: Bytes::from_static(b"tail"), sent: 0 };
        assert_eq!(outgoing.rest(), (&b"head"[..], &b"tail"[..]));
        outgoing.sent = 4;
        assert_eq!(outgoing.rest(), (&b""[..], &b"tail"[..]));
        outgoing.sent = 6;
        assert_eq!(outgoing.rest(), (&b""[..], &b"il"[..]));
        assert_eq!(outgoing.remaining(), 2);
    }
}
