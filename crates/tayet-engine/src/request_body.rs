//! The body of a request, as its handler reads it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tayet_http1::Refusal;

use crate::interim::Interim;
use crate::mailbox::Message;
use crate::peer::Peer;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};

/// How long a client may take nothing that waits for a 100.
const CONTINUE_TIMEOUT_MS: u64 = 10_000;
/// Memory that is set aside for a body by what its head says of it; more only when it has come.
const MAX_RESERVED_BYTES: usize = 256 * 1024;

/// The body of a request. Reading it as [`Read`] blocks while it still arrives; the socket is not read faster than the
/// handler reads ([`Limits::stream_buffer_bytes`](crate::Limits::stream_buffer_bytes)), nor may the client be slower than
/// [`Limits::min_receive_rate_bytes_per_second`](crate::Limits::min_receive_rate_bytes_per_second).
///
/// # Examples
///
/// ```
/// use tayet_engine::{BodyError, Request, Response};
///
/// fn receive(request: &mut Request) -> Response {
///     let body = request.stream();
///     body.set_max_bytes(1 << 30);
///     let mut part = [0; 8192];
///     loop {
///         match body.read_some(&mut part) {
///             Ok(0) => return Response::new(format!("{} bytes", body.bytes_read())),
///             Ok(_) => {}
///             Err(BodyError::Disconnected) => return Response::default(), // nobody is there to read it
///             Err(error) => return Response::new(error.to_string()).with_status(error.status()),
///         }
///     }
/// }
///
/// let mut request = Request::builder("PUT", "/").body("12345").build().unwrap();
/// assert_eq!(receive(&mut request).body().as_bytes(), Some(&b"5 bytes"[..]));
/// ```
#[derive(Debug)]
pub struct RequestBody {
    source: Source,
    bytes_read: u64,
    max_bytes: u64,
    trailers: Option<Box<HeaderMap>>,
}

#[derive(Default)]
enum Source {
    #[default]
    Empty,
    Whole(Bytes),
    Arriving(PipeReader),
    Reader(Box<dyn Read + Send>),
}

impl RequestBody {
    pub(crate) fn whole(bytes: Bytes, trailers: Option<Box<HeaderMap>>) -> Self {
        let source = if bytes.is_empty() { Source::Empty } else { Source::Whole(bytes) };
        Self { trailers, ..Self::of(source) }
    }

    pub(crate) fn arriving(pipe: Arc<BodyPipe>, peer: Arc<Peer>, exchange: u32) -> Self {
        Self::of(Source::Arriving(PipeReader { pipe, peer, exchange }))
    }

    pub(crate) fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Self::of(Source::Reader(Box::new(reader)))
    }

    fn of(source: Source) -> Self {
        Self { source, bytes_read: 0, max_bytes: u64::MAX, trailers: None }
    }

    /// How many bytes have been read of it.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Limits how many bytes may be read of it; past them, reading is [`BodyError::TooLarge`] (413), and where its length
    /// is known the first read already is. Default: no limit but
    /// [`Limits::max_stream_bytes`](crate::Limits::max_stream_bytes).
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.max_bytes = max_bytes;
    }

    /// Reads the rest into memory.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`] for more than `limit_bytes`, at once where the length is known, and as [`BodyError`] has
    /// them while it arrives.
    pub fn read_whole(&mut self, limit_bytes: usize) -> Result<Bytes, BodyError> {
        let too_large = BodyError::TooLarge { limit_bytes: limit_bytes as u64 };
        let known_bytes = self.source.known_bytes();
        if known_bytes > limit_bytes as u64 {
            return Err(too_large);
        }
        match &mut self.source {
            Source::Empty => return Ok(Bytes::new()),
            Source::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                self.source = Source::Empty;
                self.count(bytes.len())?;
                return Ok(bytes);
            }
            Source::Arriving(_) | Source::Reader(_) => {}
        }
        let mut bytes = Vec::with_capacity((known_bytes as usize).min(MAX_RESERVED_BYTES));
        let mut part = [0; 16 * 1024];
        loop {
            match self.read_some(&mut part)? {
                0 => return Ok(bytes.into()),
                count if bytes.len() + count > limit_bytes => return Err(too_large),
                count => bytes.extend_from_slice(&part[..count]),
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
        let mut state = lock(&reader.pipe.state);
        let arrived = reader.take_arrived(&mut state, into)?;
        if arrived.is_none() && state.awaits_continue {
            state = reader.invite(state)?;
        }
        drop(state);
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
        if self.bytes_read == 0 && self.source.known_bytes() > self.max_bytes {
            return Err(BodyError::TooLarge { limit_bytes: self.max_bytes });
        }
        let count = match &mut self.source {
            Source::Empty => 0,
            Source::Whole(bytes) => {
                let count = bytes.len().min(into.len());
                into[..count].copy_from_slice(&bytes.split_to(count));
                count
            }
            Source::Arriving(reader) => match reader.read(into)? {
                Arrived::Bytes(count) => count,
                Arrived::End(trailers) => {
                    self.trailers = trailers;
                    self.source = Source::Empty;
                    0
                }
            },
            Source::Reader(reader) => read_from(reader, into)?,
        };
        self.count(count)?;
        Ok(count)
    }

    fn count(&mut self, bytes: usize) -> Result<(), BodyError> {
        self.bytes_read += bytes as u64;
        if self.bytes_read > self.max_bytes {
            return Err(BodyError::TooLarge { limit_bytes: self.max_bytes });
        }
        Ok(())
    }
}

impl Source {
    /// How many bytes will come, as far as that is known: at least these.
    fn known_bytes(&self) -> u64 {
        match self {
            Self::Empty | Self::Reader(_) => 0,
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Arriving(reader) => reader.known_bytes(),
        }
    }
}

fn read_from(reader: &mut dyn Read, into: &mut [u8]) -> Result<usize, BodyError> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(|error| BodyError::of_io(&error)),
        }
    }
}

impl Default for RequestBody {
    fn default() -> Self {
        Self::of(Source::Empty)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Whole(bytes) => write!(f, "Whole({})", bytes.len()),
            Self::Arriving(reader) => reader.fmt(f),
            Self::Reader(_) => f.write_str("Reader(..)"),
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
    /// Its content coding is broken, so what it holds cannot be read: 400.
    Undecodable,
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
            Self::Undecodable | Self::Disconnected => StatusCode::BAD_REQUEST,
        }
    }

    /// What an error of reading a body's bytes, changed on their way, says of the body.
    fn of_io(error: &io::Error) -> Self {
        let source = error.get_ref().and_then(|source| source.downcast_ref::<Self>());
        source.copied().unwrap_or(Self::Undecodable)
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit_bytes } => write!(f, "the body is larger than {limit_bytes} bytes"),
            Self::TooSlow => f.write_str("the body came too slowly"),
            Self::Malformed(refusal) => refusal.fmt(f),
            Self::Undecodable => f.write_str("the body's content coding is broken"),
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
            BodyError::Malformed(_) | BodyError::Undecodable => io::ErrorKind::InvalidData,
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
    /// The reader waits for something to come.
    is_awaited: bool,
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
                is_awaited: false,
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
        self.ring(&mut state);
        if state.is_full { Flow::Full } else { Flow::Open }
    }

    /// The loop's: no more comes.
    pub(crate) fn finish(&self, end: Result<Option<Box<HeaderMap>>, BodyError>) {
        let mut state = lock(&self.state);
        state.end.get_or_insert(end);
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

#[derive(Debug)]
struct PipeReader {
    pipe: Arc<BodyPipe>,
    peer: Arc<Peer>,
    exchange: u32,
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
            if state.awaits_continue {
                state = self.invite(state)?;
            } else {
                state.is_awaited = true;
                state = wait(&self.pipe.changed, state);
            }
        }
    }

    /// Takes what is there; `None` when nothing is.
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
            Some(Ok(trailers)) => Ok(Some(Arrived::End(trailers.take()))),
            Some(Err(error)) => Err(*error),
            None => Ok(None),
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

    fn known_bytes(&self) -> u64 {
        let state = lock(&self.pipe.state);
        state.expected_bytes.unwrap_or(0) + state.arrived.len() as u64
    }

    fn send_continue(&self) -> io::Result<()> {
        while self.peer.send_interim(self.exchange, tayet_http1::CONTINUE)? == Interim::NotNow {
            let Some(socket) = self.peer.socket() else { break };
            socket.wait_writable(Duration::from_millis(CONTINUE_TIMEOUT_MS))?;
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
        let body = RequestBody::arriving(Arc::clone(&pipe), Arc::new(Peer::unconnected()), 1);
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
    fn a_stream_has_a_limit_of_its_own() {
        let (pipe, mut body) = pipe(None);
        body.set_max_bytes(5);
        pipe.push(b"abcde");
        let mut part = [0; 5];
        assert_eq!(body.read_some(&mut part), Ok(5));
        assert_eq!(body.bytes_read(), 5);
        pipe.push(b"f");
        pipe.finish(Ok(None));
        let too_large = Err(BodyError::TooLarge { limit_bytes: 5 });
        assert_eq!(body.read_some(&mut part), too_large);
        assert_eq!(body.read_some(&mut part), too_large);
    }

    #[test]
    fn a_stream_whose_length_is_over_its_limit_is_not_begun() {
        let (pipe, mut body) = pipe(Some(6));
        body.set_max_bytes(5);
        pipe.push(b"a");
        assert_eq!(body.read_some(&mut [0; 5]), Err(BodyError::TooLarge { limit_bytes: 5 }));
        let mut whole = RequestBody::whole("abcdef".into(), None);
        whole.set_max_bytes(5);
        assert_eq!(whole.read_whole(100), Err(BodyError::TooLarge { limit_bytes: 5 }));
    }

    #[test]
    fn what_changes_a_body_on_its_way_passes_its_errors_on() {
        let (pipe, body) = pipe(None);
        pipe.push(b"abc");
        pipe.finish(Err(BodyError::TooSlow));
        let mut changed = RequestBody::from_reader(body.take(100));
        let mut part = [0; 8];
        assert_eq!(changed.read_some(&mut part), Ok(3));
        assert_eq!(changed.read_some(&mut part), Err(BodyError::TooSlow));
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("a checksum is wrong"))
            }
        }
        assert_eq!(RequestBody::from_reader(Broken).read_whole(10), Err(BodyError::Undecodable));
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
