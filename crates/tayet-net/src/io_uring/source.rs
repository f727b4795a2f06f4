//! A connection, as the driver over io_uring sees it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd};

use super::ahead::Gathering;
use super::operation::Epoch;
use crate::{Companion, Outgoing, TcpSocket, Token};

/// A connection, from its attaching until its last operation has ended.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) token: Token,
    pub(super) socket: Arc<TcpSocket>,
    /// Let go by the loop; only its operations still have an end to come.
    pub(super) is_detached: bool,
    pub(super) receiving: bool,
    /// An end or an error has come; nothing is received any more.
    pub(super) is_finished: bool,
    /// Who armed the receiving that goes on.
    pub(super) armed: Option<Epoch>,
    /// The receiving that goes on is about to be cancelled.
    pub(super) is_cancelled: bool,
    /// When it was received from ahead.
    pub(super) gathered: Gathering,
    pub(super) companion: Companion,
    /// What came while receiving was paused, in order. As the pause ends the receiving at the first of it, there is at most
    /// what all buffers together hold.
    pub(super) held: VecDeque<Held>,
    /// In the driver's queue, for what is held.
    pub(super) is_queued: bool,
    pub(super) sending: Sending,
    /// Operations that have not ended, those included that the kernel has not been told of.
    pub(super) operations: u32,
}

/// Something that came before its connection wanted it.
#[derive(Debug)]
pub(super) enum Held {
    Bytes(Vec<u8>),
    Ended,
    Broken(io::Error),
}

/// Where a connection's send stands.
#[derive(Debug)]
pub(super) enum Sending {
    Nothing,
    /// In the ring.
    Submitted,
    /// Here, until the connection takes more.
    Blocked(Outgoing),
    /// Others send; the loop is to be told when the connection takes more.
    Awaited,
}

impl Source {
    pub(super) fn new(token: Token, socket: TcpSocket) -> Self {
        Self {
            token,
            socket: Arc::new(socket),
            is_detached: false,
            receiving: true,
            is_finished: false,
            armed: None,
            is_cancelled: false,
            gathered: Gathering::default(),
            companion: Companion::default(),
            held: VecDeque::new(),
            is_queued: false,
            sending: Sending::Nothing,
            operations: 0,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether a receiving is to be armed: what is held comes first.
    pub(super) fn wants_receiving(&self) -> bool {
        self.receiving
            && !self.is_finished
            && !self.is_detached
            && self.armed.is_none()
            && self.held.is_empty()
    }

    /// Whether the kernel is asked when the connection takes more.
    pub(super) fn waits_for_room(&self) -> bool {
        matches!(self.sending, Sending::Blocked(_) | Sending::Awaited)
    }
}
