//! The body of a request, as its handler reads it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tayet_http1::Refusal;

use crate::mailbox::Message;
use crate::peer::Peer;
use crate::sync::{Condvar, Mutex, lock, wait};

/// How long a 100 (25 bytes, on a connection with nothing else to send) may take to be sent.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(10);

/// The body of a request. Reading it as [`Read`] blocks while it still arrives; the socket is not read faster than the
/// handler reads ([`Limits::stream_buffer_bytes`](crate::Limits::stream_buffer_bytes)).
#[derive(Debug, Default)]
pub struct RequestBody {
    source: Source,
    trailers: Option<Box<HeaderMap>>,
}

#[derive(Debug, Default)]
enum Source {
    #[default]
    Empty,
    Whole(Bytes),
    Arriving(PipeReader),
}

impl RequestBody {
    pub(crate) fn whole(bytes: Bytes, trailers: Option<Box<HeaderMap>>) -> Self {
        let source = if bytes.is_empty() { Source::Empty } else { Source::Whole(bytes) };
        Self { source, trailers }
    }

    pub(crate) fn arriving(pipe: Arc<BodyPipe>, peer: Arc<Peer>) -> Self {
        Self { source: Source::Arriving(PipeReader { pipe, peer }), trailers: None }
    }

    /// Reads the rest into memory.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`] for more than `limit_bytes`, at once where the length is known, and as [`BodyError`] has
    /// them while it arrives.
    pub fn read_whole(&mut self, limit_bytes: usize) -> Result<Bytes, BodyError> {
        match std::mem::take(&mut self.source) {
            Source::Empty => Ok(Bytes::new()),
            Source::Whole(bytes) if bytes.len() > limit_bytes => {
                Err(BodyError::TooLarge { limit_bytes: limit_bytes as u64 })
            }
            Source::Whole(bytes) => Ok(bytes),
            Source::Arriving(reader) => {
                let (bytes, trailers) = reader.read_to_end(limit_bytes)?;
                self.trailers = trailers;
                Ok(bytes)
            }
        }
    }

    /// Whether all of it is here, so that reading it will not block.
    pub fn is_whole(&self) -> bool {
        !matches!(self.source, Source::Arriving(_))
    }

    /// The trailer fields, once the body has been read to its end, if it had any.
    pub fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_deref()
    }

    /// Reads without blocking: what has arrived, `Some(0)` at the end, `None` when nothing is there. For simulations, whose
    /// one thread must not wait for itself.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn try_read(&mut self, into: &mut [u8]) -> Result<Option<usize>, BodyError> {
        let Source::Arriving(reader) = &mut self.source else { return self.read_some(into).map(Some) };
        let arrived = reader.take_arrived(&mut lock(&reader.pipe.state), into)?;
        Ok(match arrived {
            Some(Arrived::Bytes(count)) => Some(count),
            Some(Arrived::End(trailers)) => {
                self.trailers = trailers;
                self.source = Source::Empty;
                Some(0)
            }
            None => None,
        })
    }

    /// Reads as [`Read::read`] does, with the error as what it is.
    ///
    /// # Errors
    ///
    /// As [`BodyError`] has them.
    pub fn read_some(&mut self, into: &mut [u8]) -> Result<usize, BodyError> {
        match &mut self.source {
            Source::Empty => Ok(0),
            Source::Whole(bytes) => {
                let count = bytes.len().min(into.len());
                into[..count].copy_from_slice(&bytes.split_to(count));
                Ok(count)
            }
            Source::Arriving(reader) => match reader.read(into)? {
                Arrived::Bytes(count) => Ok(count),
                Arrived::End(trailers) => {
                    self.trailers = trailers;
                    self.source = Source::Empty;
                    Ok(0)
                }
            },
        }
    }
}

impl Read for RequestBody {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.read_some(into)?)
    }
}

/// Why a body could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It is larger than the limit: 413.
    TooLarge {
        /// The limit that it exceeds.
        limit_bytes: u64,
    },
    /// It came more slowly than the least rate allowed: 408.
    TooSlow,
    /// Its framing is wrong: mostly 400.
    Malformed(Refusal),
    /// The client went away in the middle of it.
    Disconnected,
}

impl BodyError {
    /// The status that tells the client.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Malformed(refusal) => refusal.status(),
            Self::Disconnected => StatusCode::BAD_REQUEST,
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit_bytes } => write!(f, "the body is larger than {limit_bytes} bytes"),
            Self::TooSlow => f.write_str("the body came too slowly"),
            Self::Malformed(refusal) => refusal.fmt(f),
            Self::Disconnected => f.write_str("the client went away before the body had come"),
        }
    }
}

impl std::error::Error for BodyError {}

impl From<BodyError> for io::Error {
    fn from(error: BodyError) -> Self {
        let kind = match error {
            BodyError::TooLarge { .. } => io::ErrorKind::FileTooLarge,
            BodyError::TooSlow => io::ErrorKind::TimedOut,
            BodyError::Malformed(_) => io::ErrorKind::InvalidData,
            BodyError::Disconnected => io::ErrorKind::ConnectionAborted,
        };
        Self::new(kind, error)
    }
}

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
    is_abandoned: bool,
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
                is_abandoned: false,
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
        self.changed.notify_one();
        if state.is_full { Flow::Full } else { Flow::Open }
    }

    /// The loop's: no more comes.
    pub(crate) fn finish(&self, end: Result<Option<Box<HeaderMap>>, BodyError>) {
        let mut state = lock(&self.state);
        state.end.get_or_insert(end);
        self.changed.notify_one();
    }

    /// Whether the body has come whole.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(lock(&self.state).end, Some(Ok(_)))
    }
}

#[derive(Debug)]
struct PipeReader {
    pipe: Arc<BodyPipe>,
    peer: Arc<Peer>,
}

enum Arrived {
    Bytes(usize),
    End(Option<Box<HeaderMap>>),
}

impl PipeReader {
    fn read(&mut self, into: &mut [u8]) -> Result<Arrived, BodyError> {
        if into.is_empty() {
            return Ok(Arrived::Bytes(0));
        }
        let mut state = lock(&self.pipe.state);
        loop {
            if let Some(arrived) = self.take_arrived(&mut state, into)? {
                return Ok(arrived);
            }
            state = wait(&self.pipe.changed, state);
        }
    }

    /// Takes what is there. `None` when nothing is; a client that waits for a 100 then has it.
    fn take_arrived(&self, state: &mut PipeState, into: &mut [u8]) -> Result<Option<Arrived>, BodyError> {
        if !state.arrived.is_empty() {
            let count = state.arrived.read(into).unwrap_or(0);
            if state.is_full && state.arrived.len() <= self.pipe.capacity_bytes / 2 {
                state.is_full = false;
                self.ask_for_more();
            }
            return Ok(Some(Arrived::Bytes(count)));
        }
        match &mut state.end {
            Some(Ok(trailers)) => return Ok(Some(Arrived::End(trailers.take()))),
            Some(Err(error)) => return Err(*error),
            None => {}
        }
        if std::mem::take(&mut state.awaits_continue) {
            self.send_continue()?;
        }
        Ok(None)
    }

    fn read_to_end(mut self, limit_bytes: usize) -> Result<(Bytes, Option<Box<HeaderMap>>), BodyError> {
        let too_large = BodyError::TooLarge { limit_bytes: limit_bytes as u64 };
        let expected = {
            let state = lock(&self.pipe.state);
            state.expected_bytes.unwrap_or(0) + state.arrived.len() as u64
        };
        if expected > limit_bytes as u64 {
            return Err(too_large);
        }
        let mut bytes = Vec::with_capacity((expected as usize).min(self.pipe.capacity_bytes));
        let mut part = [0; 16 * 1024];
        loop {
            match self.read(&mut part)? {
                Arrived::Bytes(count) if bytes.len() + count > limit_bytes => return Err(too_large),
                Arrived::Bytes(count) => bytes.extend_from_slice(&part[..count]),
                Arrived::End(trailers) => return Ok((bytes.into(), trailers)),
            }
        }
    }

    /// The handler's thread has the right to write while the exchange is its own; nothing else waits to be sent then.
    fn send_continue(&self) -> Result<(), BodyError> {
        let Some(socket) = self.peer.socket() else { return Ok(()) };
        let mut rest = tayet_http1::CONTINUE;
        while !rest.is_empty() {
            match socket.send(rest, &[]) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.wait_writable(CONTINUE_TIMEOUT).map_err(|_| BodyError::Disconnected)?
                }
                Err(_) => return Err(BodyError::Disconnected),
            }
        }
        Ok(())
    }

    fn ask_for_more(&self) {
        self.peer.tell_loop(Message::BodyWanted(self.peer.token));
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut state = lock(&self.pipe.state);
        state.is_abandoned = true;
        state.arrived = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(expected: Option<u64>) -> (Arc<BodyPipe>, RequestBody) {
        let pipe = Arc::new(BodyPipe::new(8, expected, false));
        let body = RequestBody::arriving(Arc::clone(&pipe), Arc::new(Peer::unconnected()));
        (pipe, body)
    }

    #[test]
    fn what_is_pushed_is_read_in_order_with_its_trailers() {
        let (pipe, mut body) = pipe(None);
        assert_eq!(pipe.push(b"abc"), Flow::Open);
        assert_eq!(pipe.push(b"defghijk"), Flow::Full);
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "1".parse().unwrap());
        pipe.finish(Ok(Some(Box::new(trailers))));
        let mut text = String::new();
        body.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcdefghijk");
        assert_eq!(body.trailers().unwrap()["x-sum"], "1");
    }

    #[test]
    fn a_known_length_over_the_limit_is_refused_before_it_comes() {
        let (_pipe, mut body) = pipe(Some(100));
        assert_eq!(body.read_whole(99), Err(BodyError::TooLarge { limit_bytes: 99 }));
    }

    #[test]
    fn an_unknown_length_over_the_limit_is_refused_when_it_shows() {
        let (pipe, mut body) = pipe(None);
        pipe.push(b"abcdef");
        pipe.finish(Ok(None));
        assert_eq!(body.read_whole(5), Err(BodyError::TooLarge { limit_bytes: 5 }));
    }

    #[test]
    fn a_broken_body_ends_in_its_error_after_what_came() {
        let (pipe, mut body) = pipe(None);
        pipe.push(b"abc");
        pipe.finish(Err(BodyError::Disconnected));
        let mut part = [0; 8];
        assert_eq!(body.read_some(&mut part), Ok(3));
        assert_eq!(body.read_some(&mut part), Err(BodyError::Disconnected));
    }

    #[test]
    fn a_dropped_body_takes_nothing_more() {
        let (pipe, body) = pipe(None);
        drop(body);
        assert_eq!(pipe.push(b"abc"), Flow::Abandoned);
    }
}
