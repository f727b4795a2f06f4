//! A connection, as the driver over io_uring sees it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd};

use super::ahead::Gathering;
use crate::near_socket::NearSocket;
use crate::{Companion, Outgoing, TcpSocket, Token};

/// A connection, from its attaching until its last operation has ended.
// On a cache line of its own: each is looked at for every request, and there may be a hundred thousand.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Source {
    pub(super) socket: NearSocket,
    pub(super) token: Token,
    pub(super) companion: Companion,
    /// Operations that have not ended, those included that the kernel has not been told of.
    pub(super) operations: u32,
    /// When it was received from ahead.
    pub(super) gathered: Gathering,
    /// Let go by the loop; only its operations still have an end to come.
    pub(super) is_detached: bool,
    pub(super) receiving: bool,
    /// A receiving goes on.
    pub(super) is_armed: bool,
    /// An end or an error has come; nothing is received any more.
    pub(super) is_finished: bool,
    /// The receiving that goes on is about to be cancelled.
    pub(super) is_cancelled: bool,
    /// In the driver's queue, for what is held.
    pub(super) is_queued: bool,
    pub(super) sending: Sending,
    /// What few connections have.
    waiting: Option<Box<Waiting>>,
}

const _: () = assert!(size_of::<Option<Source>>() == 64);

#[derive(Debug, Default)]
struct Waiting {
    /// What came while receiving was paused, in order. As the pause ends the receiving at the first of it, there is at most
    /// what all buffers together hold.
    held: VecDeque<Held>,
    /// What is to be sent when the connection takes more.
    blocked: Outgoing,
}

/// Something that came before its connection wanted it.
#[derive(Debug)]
pub(super) enum Held {
    Bytes(Vec<u8>),
    Ended,
    Broken(io::Error),
}

/// Where a connection's send stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    Nothing,
    /// In the ring.
    Submitted,
    /// Here, until the connection takes more.
    Blocked,
    /// Others send; the loop is to be told when the connection takes more.
    Awaited,
}

impl Source {
    pub(super) fn new(token: Token, socket: TcpSocket) -> Self {
        Self {
            socket: NearSocket::new(Arc::new(socket)),
            token,
            companion: Companion::default(),
            operations: 0,
            gathered: Gathering::default(),
            is_detached: false,
            receiving: true,
            is_armed: false,
            is_finished: false,
            is_cancelled: false,
            is_queued: false,
            sending: Sending::Nothing,
            waiting: None,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether bytes that come are for its owner at once.
    #[inline]
    pub(super) fn takes_bytes(&self) -> bool {
        self.receiving && !self.is_finished && !self.is_detached && !self.holds_something()
    }

    /// Whether a receiving is to be armed: what is held comes first.
    pub(super) fn wants_receiving(&self) -> bool {
        self.takes_bytes() && !self.is_armed
    }

    /// Forgets what went on in a ring that is closed: all but a send, of which something is still told.
    pub(super) fn forget_operations(&mut self) {
        self.operations = u32::from(self.sending == Sending::Submitted);
        self.is_armed = false;
        self.is_cancelled = false;
    }

    /// Whether the kernel is asked when the connection takes more.
    pub(super) fn waits_for_room(&self) -> bool {
        matches!(self.sending, Sending::Blocked | Sending::Awaited)
    }

    pub(super) fn holds_something(&self) -> bool {
        self.held().len() > 0
    }

    /// What came and was not wanted yet.
    pub(super) fn held(&self) -> impl ExactSizeIterator<Item = &Held> {
        self.waiting.as_ref().map_or_else(Default::default, |waiting| waiting.held.iter())
    }

    pub(super) fn hold(&mut self, held: Held) {
        self.waiting.get_or_insert_default().held.push_back(held);
    }

    /// The first that was held.
    pub(super) fn take_held(&mut self) -> Option<Held> {
        self.waiting.as_mut()?.held.pop_front()
    }

    /// Keeps what is to be sent until the connection takes more.
    pub(super) fn block(&mut self, outgoing: Outgoing) {
        self.sending = Sending::Blocked;
        self.waiting.get_or_insert_default().blocked = outgoing;
    }

    /// Gives what was kept so.
    pub(super) fn unblock(&mut self) -> Outgoing {
        self.sending = Sending::Nothing;
        self.waiting.as_mut().map(|waiting| std::mem::take(&mut waiting.blocked)).unwrap_or_default()
    }

    /// Forgets what came, and what is to be sent; not what the ring has.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting = None;
        if self.waits_for_room() {
            self.sending = Sending::Nothing;
        }
    }
}
