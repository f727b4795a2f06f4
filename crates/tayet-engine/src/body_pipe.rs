//! Between a loop, which receives a request's body, and the handler that reads it.
//!
//! What the pipe can hold, the loop receives ahead. Of a body whose length is known to be more it lends the receiving to the reader,
//! who takes the bytes from the socket itself: without a copy, and without waking anybody.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use crate::BodyError;
use crate::clock::Clock;
use crate::interim::Interim;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::rate::{LeastRate, WaitingRate};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};

/// How long a client may take nothing that waits for a 100.
const CONTINUE_TIMEOUT_MS: u64 = 10_000;
/// A reader with less room than this receives [`AHEAD_BYTES`] at a time, and takes its parts from those.
const MIN_DIRECT_BYTES: usize = 32 * 1024;
/// What is received at a time for a reader with little room.
const AHEAD_BYTES: usize = 64 * 1024;

/// Between the loop, which receives a body, and the handler, which reads it.
#[derive(Debug)]
pub(crate) struct BodyPipe {
    state: Mutex<PipeState>,
    changed: Condvar,
    capacity_bytes: usize,
}

#[derive(Debug)]
struct PipeState {
    arrived: VecDeque<u8>,
    end: Option<Result<Option<Box<HeaderMap>>, BodyError>>,
    /// Known length of what has not been pushed yet.
    expected_bytes: Option<u64>,
    /// The client waits for a 100 before it sends.
    awaits_continue: bool,
    /// The loop does not read the socket until it is told that there is room.
    is_full: bool,
    /// The reader waits for something to come.
    is_awaited: bool,
    is_abandoned: bool,
    /// What is still expected, its reader receives itself.
    is_lent: bool,
}

/// What the loop does after a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There is room.
    Open,
    /// No room: a [`Message::BodyWanted`] will tell of it.
    Full,
    /// Nobody reads any more.
    Abandoned,
}

impl BodyPipe {
    pub(crate) fn new(capacity_bytes: usize, expected_bytes: Option<u64>, awaits_continue: bool) -> Self {
        Self {
            state: Mutex::new(PipeState {
                arrived: VecDeque::new(),
                end: None,
                expected_bytes,
                awaits_continue,
                is_full: false,
                is_awaited: false,
                is_abandoned: false,
                is_lent: false,
            }),
            changed: Condvar::new(),
            capacity_bytes,
        }
    }

    /// The loop's: adds what came.
    pub(crate) fn push(&self, bytes: &[u8]) -> Flow {
        let mut state = lock(&self.state);
        if state.is_abandoned {
            return Flow::Abandoned;
        }
        state.arrived.extend(bytes);
        state.awaits_continue = false;
        if let Some(expected) = &mut state.expected_bytes {
            *expected = expected.saturating_sub(bytes.len() as u64);
        }
        state.is_full = state.arrived.len() >= self.capacity_bytes;
        self.ring(&mut state);
        if state.is_full { Flow::Full } else { Flow::Open }
    }

    /// The loop's: no more comes.
    pub(crate) fn finish(&self, end: Result<Option<Box<HeaderMap>>, BodyError>) {
        let mut state = lock(&self.state);
        state.end.get_or_insert(end);
        self.ring(&mut state);
    }

    /// The loop's: what is still to come of a body with a known length, its reader is to receive itself, until it says that it is
    /// done ([`Message::BodyReturned`]).
    pub(crate) fn lend(&self) {
        let mut state = lock(&self.state);
        state.is_lent = !state.is_abandoned;
        state.is_full = false;
        self.ring(&mut state);
    }

    /// Wakes the reader, if it waits.
    fn ring(&self, state: &mut PipeState) {
        if std::mem::take(&mut state.is_awaited) {
            self.changed.notify_one();
        }
    }

    /// Whether the body has come whole.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(lock(&self.state).end, Some(Ok(_)))
    }
}

/// The reader's end.
#[derive(Debug)]
pub(crate) struct PipeReader {
    pipe: Arc<BodyPipe>,
    peer: Arc<Peer>,
    exchange: u32,
    clock: Clock,
    rate: WaitingRate,
    /// Received by the reader itself.
    received_bytes: u64,
    /// The kernel had no more when it was asked last.
    is_drained: bool,
    ahead: Ahead,
}

/// What a reader gets.
pub(crate) enum Arrived {
    Bytes(usize),
    End(Option<Box<HeaderMap>>),
}

impl PipeReader {
    pub(crate) fn new(
        pipe: Arc<BodyPipe>,
        peer: Arc<Peer>,
        exchange: u32,
        least_rate: LeastRate,
        clock: Clock,
    ) -> Self {
        Self {
            pipe,
            peer,
            exchange,
            clock,
            rate: WaitingRate::new(least_rate),
            received_bytes: 0,
            is_drained: false,
            ahead: Ahead::default(),
        }
    }

    /// Reads what is there, and waits if that is nothing.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Arrived, BodyError> {
        if self.is_drained && self.ahead.is_empty() && !into.is_empty() {
            self.wait()?;
        }
        loop {
            if let Some(arrived) = self.try_read(into)? {
                return Ok(arrived);
            }
            self.wait()?;
        }
    }

    /// Reads what is there; `None` when that is nothing.
    pub(crate) fn try_read(&mut self, into: &mut [u8]) -> Result<Option<Arrived>, BodyError> {
        if into.is_empty() || !self.ahead.is_empty() {
            return Ok(Some(Arrived::Bytes(self.ahead.take(into))));
        }
        let left = {
            let mut state = lock(&self.pipe.state);
            if let Some(arrived) = self.take_arrived(&mut state, into)? {
                return Ok(Some(arrived));
            }
            if state.awaits_continue {
                state = self.invite(state)?;
            }
            if !state.is_lent {
                return Ok(None);
            }
            state.expected_bytes.unwrap_or(0)
        };
        self.receive(into, left).map_err(|error| self.break_off(error))
    }

    /// How much is known to come, or to be there.
    pub(crate) fn known_bytes(&self) -> u64 {
        let state = lock(&self.pipe.state);
        state.expected_bytes.unwrap_or(0) + (state.arrived.len() + self.ahead.len()) as u64
    }

    /// Takes what the loop has received; `None` when that is nothing.
    fn take_arrived(&self, state: &mut PipeState, into: &mut [u8]) -> Result<Option<Arrived>, BodyError> {
        if !state.arrived.is_empty() {
            let count = state.arrived.read(into).unwrap_or(0);
            if state.is_full && state.arrived.len() <= self.pipe.capacity_bytes / 2 {
                state.is_full = false;
                self.peer.tell_loop(Message::BodyWanted(self.peer.token));
            }
            return Ok(Some(Arrived::Bytes(count)));
        }
        match &mut state.end {
            Some(Ok(trailers)) => Ok(Some(Arrived::End(trailers.take()))),
            Some(Err(error)) => Err(*error),
            None => Ok(None),
        }
    }

    /// Receives from the socket, at most `left` bytes; `None` when nothing has come.
    fn receive(&mut self, into: &mut [u8], left: u64) -> Result<Option<Arrived>, BodyError> {
        let Some(socket) = self.peer.socket() else { return Err(BodyError::Disconnected) };
        let is_roomy = into.len() >= MIN_DIRECT_BYTES || into.len() as u64 >= left;
        let room = if is_roomy { &mut *into } else { self.ahead.room() };
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        let count = match socket.receive(&mut room[..wanted]) {
            Ok(0) => return Err(BodyError::Disconnected),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.look_at_rate()?;
                return Ok(None);
            }
            Err(_) => return Err(BodyError::Disconnected),
        };
        self.is_drained = count < wanted;
        self.note_received(count, left);
        if is_roomy {
            return Ok(Some(Arrived::Bytes(count)));
        }
        self.ahead.fill(count);
        Ok(Some(Arrived::Bytes(self.ahead.take(into))))
    }

    fn note_received(&mut self, count: usize, left: u64) {
        if self.rate.is_waiting() {
            self.rate.stop(self.clock.now());
        }
        self.rate.add(count);
        self.received_bytes += count as u64;
        let mut state = lock(&self.pipe.state);
        state.expected_bytes = Some(left - count as u64);
        if left == count as u64 {
            state.end.get_or_insert(Ok(None));
            self.give_back(&mut state);
        }
    }

    /// Waits until there may be something.
    fn wait(&mut self) -> Result<(), BodyError> {
        self.is_drained = false;
        let mut state = lock(&self.pipe.state);
        while state.arrived.is_empty() && state.end.is_none() {
            if state.is_lent {
                drop(state);
                return self.wait_for_socket().map_err(|error| self.break_off(error));
            }
            state.is_awaited = true;
            state = wait(&self.pipe.changed, state);
        }
        Ok(())
    }

    fn wait_for_socket(&mut self) -> Result<(), BodyError> {
        let timeout = self.look_at_rate()?;
        let Some(socket) = self.peer.socket() else { return Err(BodyError::Disconnected) };
        match socket.wait_readable(timeout) {
            Err(error) if error.kind() != io::ErrorKind::TimedOut => Err(BodyError::Disconnected),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// How long the client may go on to send nothing before the next look.
    fn look_at_rate(&mut self) -> Result<Duration, BodyError> {
        self.rate.look(self.clock.now()).ok_or(BodyError::TooSlow)
    }

    /// Nothing more of the body is taken.
    fn break_off(&self, error: BodyError) -> BodyError {
        if error == BodyError::Disconnected {
            self.peer.set_disconnected();
        }
        lock(&self.pipe.state).end.get_or_insert(Err(error));
        error
    }

    /// Leaves receiving to the loop again, if it is lent.
    fn give_back(&self, state: &mut PipeState) {
        if std::mem::take(&mut state.is_lent) {
            let (token, exchange, bytes) = (self.peer.token, self.exchange, self.received_bytes);
            self.peer.tell_loop(Message::BodyReturned { token, exchange, bytes });
        }
    }

    /// Sends the 100 that the client waits for. The loop, which may have something for the pipe, does not wait for that.
    fn invite<'p>(
        &'p self,
        mut state: MutexGuard<'p, PipeState>,
    ) -> Result<MutexGuard<'p, PipeState>, BodyError> {
        state.awaits_continue = false;
        drop(state);
        self.send_continue().map_err(|_| BodyError::Disconnected)?;
        Ok(lock(&self.pipe.state))
    }

    fn send_continue(&self) -> io::Result<()> {
        while self.peer.send_interim(self.exchange, tayet_http1::CONTINUE)? == Interim::NotNow {
            let Some(socket) = self.peer.socket() else { break };
            socket.wait_writable(Duration::from_millis(CONTINUE_TIMEOUT_MS))?;
        }
        Ok(())
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut state = lock(&self.pipe.state);
        state.is_abandoned = true;
        state.arrived = VecDeque::new();
        self.give_back(&mut state);
    }
}

/// What was received for a reader with little room, who takes it part by part.
#[derive(Default)]
struct Ahead {
    buffer: Vec<u8>,
    unread: Range<usize>,
}

impl Ahead {
    fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    fn len(&self) -> usize {
        self.unread.len()
    }

    /// Where to receive, when all is read.
    fn room(&mut self) -> &mut [u8] {
        self.buffer.resize(AHEAD_BYTES, 0);
        &mut self.buffer
    }

    /// So much was received there.
    fn fill(&mut self, count: usize) {
        self.unread = 0..count;
    }

    fn take(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.unread.len());
        into[..count].copy_from_slice(&self.buffer[self.unread.start..][..count]);
        self.unread.start += count;
        count
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ahead").field(&self.unread).finish()
    }
}
