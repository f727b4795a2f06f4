//! The life of a WebSocket, or a stream of events, within its loop: from bytes to calls of its handler, to its end.
//!
//! A session has one call at a time, on the loop or on a worker, as its route's class says. What comes meanwhile waits as
//! events, up to a bound; pings are answered and the peer's goodbye is seen at once, however long the handler takes.

mod beginning;
mod calls;
mod end;
mod input;
mod output;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;
use tayet_websocket::{CloseFrame, Failure, Receiver};

pub(crate) use self::work::{SESSIONS, SessionWork};
use crate::channel::Channel;
use crate::connection::Timing;
use crate::socket_event::SocketEvent;
use crate::{Closed, RouteId, WebSocketError};

/// What an event that waits is counted as, beside its payload.
const EVENT_BYTES: usize = 64;

/// A session, as its loop sees it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) channel: Arc<Channel>,
    /// `None` for a stream of events: what its client says is thrown away.
    receiver: Option<Receiver>,
    pub(crate) route: RouteId,
    stage: Stage,
    /// A call of the handler is under way, or on its way to a worker.
    is_busy: bool,
    is_paused: bool,
    has_ended: bool,
    /// [`SocketEvent::Close`] is under way or has been handled.
    has_told_close: bool,
    /// A ping is out, and nothing has come since.
    is_pinged: bool,
    /// `None` while nothing waits, as in most sessions most of the time.
    waiting: Option<Box<Waiting>>,
    /// The topics that it is in, by number, and its place among their members in this loop.
    pub(crate) memberships: SmallVec<[Membership; 1]>,
    received_ms: u64,
    /// What is being sent has had to wait.
    has_waited: bool,
    /// With which others what it said last was held (`held.rs`); 0 before anything was.
    pub(crate) held_batch: u32,
    pub(crate) timing: Timing,
}

/// What of a session has to wait.
#[derive(Debug, Default)]
struct Waiting {
    /// For the handler.
    events: VecDeque<SocketEvent>,
    event_bytes: usize,
    /// Received and not looked at.
    backlog: Vec<u8>,
    /// How the peer has ended what it says; told when all before it has been handled.
    ending: Option<Ending>,
    /// Since when the kernel has taken nothing of what the loop sends.
    stalled_since_ms: Option<u64>,
}

/// A session's place in a topic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    pub(crate) topic: u64,
    pub(crate) position: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// This end has said goodbye and waits for the other's.
    Closing,
    /// Everything is said; what still comes is thrown away, so that closing does not reset what was sent last.
    Lingering {
        budget_bytes: u32,
        is_shut: bool,
    },
    /// The socket is closed; the handler is still to learn of it.
    Gone,
}

/// The end of what a peer says.
#[derive(Clone, Debug)]
enum Ending {
    Goodbye(Option<CloseFrame>),
    Failure(Failure),
    /// The connection's end, without a word.
    Silence,
}

impl Session {
    fn new(channel: Arc<Channel>, receiver: Option<Receiver>, route: RouteId, now_ms: u64) -> Self {
        Self {
            channel,
            receiver,
            route,
            stage: Stage::Open,
            is_busy: false,
            is_paused: false,
            has_ended: false,
            has_told_close: false,
            is_pinged: false,
            waiting: None,
            memberships: SmallVec::new(),
            received_ms: now_ms,
            has_waited: false,
            held_batch: 0,
            timing: Timing::default(),
        }
    }

    fn waiting(&mut self) -> &mut Waiting {
        self.waiting.get_or_insert_default()
    }

    /// Gives the room for what waits back when nothing does.
    fn release_waiting(&mut self) {
        let has_work = self.has_more_to_do();
        self.waiting.take_if(|waiting| !has_work && waiting.stalled_since_ms.is_none());
    }

    fn push(&mut self, event: SocketEvent) {
        let waiting = self.waiting();
        waiting.event_bytes += event.len() + EVENT_BYTES;
        waiting.events.push_back(event);
    }

    fn pop(&mut self) -> Option<SocketEvent> {
        let waiting = self.waiting.as_mut()?;
        let event = waiting.events.pop_front()?;
        waiting.event_bytes -= event.len() + EVENT_BYTES;
        Some(event)
    }

    /// All that waits for the handler, behind `first`.
    fn batch(&mut self, first: SocketEvent) -> VecDeque<SocketEvent> {
        let mut batch = VecDeque::new();
        if let Some(waiting) = &mut self.waiting {
            batch = std::mem::take(&mut waiting.events);
            waiting.event_bytes = 0;
        }
        batch.push_front(first);
        batch
    }

    fn has_backlog(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.backlog.is_empty())
    }

    fn take_backlog(&mut self) -> Vec<u8> {
        self.waiting.as_mut().map(|waiting| std::mem::take(&mut waiting.backlog)).unwrap_or_default()
    }

    fn has_ending(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.ending.is_some())
    }

    fn stalled_since_ms(&self) -> Option<u64> {
        self.waiting.as_ref().and_then(|waiting| waiting.stalled_since_ms)
    }

    /// Whether there is something to do as soon as the handler is done.
    fn has_more_to_do(&self) -> bool {
        self.has_events() || self.has_backlog() || self.has_ending()
    }

    fn has_events(&self) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| !waiting.events.is_empty())
    }

    /// Whether its handler can be called: it is not, and has not asked for a pause. Of the end it hears in any case.
    fn may_call(&self) -> bool {
        !self.is_busy && (self.stage == Stage::Gone || !self.channel.is_paused())
    }

    fn is_lingering(&self) -> bool {
        matches!(self.stage, Stage::Lingering { .. })
    }

    /// Whether what comes may be looked at: not while too much waits for the handler, or for a peer that takes nothing of
    /// what it is sent.
    fn may_decode(&self, max_waiting_bytes: usize) -> bool {
        let Some(waiting) = &self.waiting else { return true };
        if !self.may_call() && waiting.event_bytes >= max_waiting_bytes {
            return false;
        }
        let high_water_bytes = self.channel.settings.max_send_queue_bytes / 2;
        waiting.stalled_since_ms.is_none() || self.channel.outbox().pending_bytes() <= high_water_bytes
    }

    /// Has the handler told of the end, once.
    fn tell_close(&mut self, error: Option<WebSocketError>, closed: Closed) {
        if !std::mem::replace(&mut self.has_told_close, true) {
            if let Some(error) = error {
                self.push(SocketEvent::Error(error));
            }
            self.push(SocketEvent::Close(closed));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_idle_session_is_small() {
        assert!(size_of::<Session>() <= 136, "{} bytes", size_of::<Session>());
        assert!(size_of::<Channel>() <= 232, "{} bytes", size_of::<Channel>());
    }
}
