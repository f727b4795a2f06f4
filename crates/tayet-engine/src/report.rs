//! What became of an answer that somebody else than its loop has made, for the loop.

use std::sync::Arc;

use http::StatusCode;
use tayet_net::{Moment, Token};

use crate::Request;
use crate::answer::Unsent;
use crate::download::Download;
use crate::home::Home;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::shared::Shared;

/// An answer is made, and sent as far as its outcome says.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) token: Token,
    /// The handle that its request had.
    pub(crate) peer: Arc<Peer>,
    pub(crate) exchange: u32,
    pub(crate) record: Option<Record>,
    /// Blank again, to be used for another; the answer's bytes may lie in it.
    pub(crate) request: Option<Box<Request>>,
    pub(crate) outcome: Outcome,
    /// When that was.
    pub(crate) at: Moment,
}

/// What the loop counts of such an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record {
    /// A worker's.
    Dispatched { status: StatusCode, waited_ns: u64, took_ns: u64 },
    /// One that its handler has deferred.
    Deferred { status: StatusCode },
}

/// How far an answer came.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All of it is sent.
    Sent { keep_alive: bool, bytes: u64 },
    /// All of it lies in its request, to be sent by the loop. The connection lives on.
    Made,
    /// The rest is for the loop to send.
    Rest(Box<Unsent>),
    /// So many bytes are sent, and the rest is for the loop to keep until the client takes more.
    Parked { download: Box<Download>, bytes: u64 },
    /// The connection is broken, or must be cut.
    Broken,
}

impl Report {
    /// Of an answer, without its request.
    pub(crate) fn new(
        peer: Arc<Peer>,
        exchange: u32,
        record: Option<Record>,
        outcome: Outcome,
        at: Moment,
    ) -> Self {
        Self { token: peer.token, peer, exchange, record, request: None, outcome, at }
    }

    /// Tells the connection's loop.
    pub(crate) fn tell(self, shared: &Shared) {
        if let Some(index) = self.peer.home().map(|home| home.index) {
            self.tell_home(&shared.homes[index]);
        }
    }

    /// The same for whoever has the loop's home at hand.
    pub(crate) fn tell_home(self, home: &Home) {
        let can_wait = |message: &Message| matches!(message, Message::Answered(report) if report.can_wait());
        home.mailbox.post_unless(Message::Answered(self), can_wait);
    }

    /// Whether it is enough that the loop learns of it when it next looks: the connection only waits for its next request.
    fn can_wait(&self) -> bool {
        matches!(self.outcome, Outcome::Sent { keep_alive: true, .. }) && !self.peer.is_awaited()
    }
}
