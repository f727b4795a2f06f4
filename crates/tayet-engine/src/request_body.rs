//! The body of a request, as its handler reads it.

use std::fmt;
use std::io::{self, Read};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tayet_http1::Refusal;

use crate::body_pipe::{Arrived, PipeReader};

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
    Arriving(Box<PipeReader>),
    Reader(Box<dyn Read + Send>),
}

impl RequestBody {
    pub(crate) fn whole(bytes: Bytes, trailers: Option<Box<HeaderMap>>) -> Self {
        let source = if bytes.is_empty() { Source::Empty } else { Source::Whole(bytes) };
        Self { trailers, ..Self::of(source) }
    }

    pub(crate) fn arriving(reader: PipeReader) -> Self {
        Self::of(Source::Arriving(Box::new(reader)))
    }

    pub(crate) fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Self::of(Source::Reader(Box::new(reader)))
    }

    fn of(source: Source) -> Self {
        Self { source, bytes_read: 0, max_bytes: u64::MAX, trailers: None }
    }

    /// Whether there is none, and nobody has asked for it.
    #[inline]
    pub(crate) fn is_pristine(&self) -> bool {
        let is_default = self.bytes_read == 0 && self.max_bytes == u64::MAX && self.trailers.is_none();
        is_default && matches!(self.source, Source::Empty)
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
        let arrived = reader.try_read(into)?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Limits;
    use crate::body_pipe::{BodyPipe, Flow};
    use crate::clock::Clock;
    use crate::peer::Peer;

    fn pipe(expected: Option<u64>) -> (Arc<BodyPipe>, RequestBody) {
        let pipe = Arc::new(BodyPipe::new(8, expected, false));
        let (peer, least_rate) = (Arc::new(Peer::unconnected()), Limits::default().least_rate());
        let reader = PipeReader::new(Arc::clone(&pipe), peer, 1, least_rate, Clock::default());
        (pipe, RequestBody::arriving(reader))
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
