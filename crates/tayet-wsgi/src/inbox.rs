//! Messages that wait for an application which receives them one by one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tayet::{Closed, Message, WebSocket};

/// What may wait for the application before its client is no longer read. A single message always has room.
const INBOX_BYTES: usize = 256 * 1024;

/// What a message is counted as, beside its payload.
const MESSAGE_BYTES: usize = 64;

/// What has come on a WebSocket and was not received by the application yet.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Message>,
    bytes: usize,
    is_paused: bool,
    closed: Option<Closed>,
}

/// What there is to receive.
pub(crate) enum Received {
    Message(Message),
    Closed(Closed),
    /// Nothing, for as long as there was time.
    TimedOut,
}

impl Inbox {
    /// Adds a message. The socket is paused when there are too many.
    pub(crate) fn put(&self, socket: &WebSocket, message: Message) {
        let mut state = self.lock();
        state.bytes += message.len() + MESSAGE_BYTES;
        state.messages.push_back(message);
        if state.bytes >= INBOX_BYTES && !state.is_paused {
            state.is_paused = true;
            socket.pause();
        }
        self.changed.notify_one();
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&self, closed: &Closed) {
        self.lock().closed = Some(closed.clone());
        self.changed.notify_all();
    }

    /// Takes the next message, and waits for it if there is a time for that; without one, until the socket is closed.
    pub(crate) fn receive(&self, socket: &WebSocket, timeout: Option<Duration>) -> Received {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        loop {
            if let Some(message) = state.take(socket) {
                return Received::Message(message);
            }
            if let Some(closed) = &state.closed {
                return Received::Closed(closed.clone());
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return Received::TimedOut,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Throws away what waits, so that the end of the conversation is not behind it.
    pub(crate) fn clear(&self, socket: &WebSocket) {
        while self.lock().take(socket).is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, socket: &WebSocket) -> Option<Message> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len() + MESSAGE_BYTES;
        if self.is_paused && self.bytes < INBOX_BYTES / 2 {
            self.is_paused = false;
            socket.resume();
        }
        Some(message)
    }
}
