//! The receiving side of a connection.

use http::HeaderMap;

use crate::chunk_decoder::{ChunkDecoder, take_data};
use crate::head_parser::HeadParser;
use crate::limits::MAX_LEADING_EMPTY_LINES;
use crate::line::Stop;
use crate::{BodyLength, Head, HeadLimits, Refusal};

/// What an idle connection may cost on the stack; on the heap it has nothing.
const MAX_CONNECTION_BYTES: usize = 64;

const _: () = assert!(size_of::<Connection>() <= MAX_CONNECTION_BYTES);

/// The receiving side of one connection: bytes in, heads and bodies out.
///
/// It is small and owns no memory between messages, since most connections are idle. Once it has refused a
/// message, it refuses everything in the same way.
///
/// [`receive_head`](Self::receive_head) is for the time between messages and within a head,
/// [`receive_body`](Self::receive_body) for the time behind a head with a body until [`BodyEvent::End`].
#[derive(Debug)]
pub struct Connection {
    state: State,
}

#[derive(Debug)]
enum State {
    BetweenMessages(EmptyLines),
    Head(Box<PartialHead>),
    FixedBody { remaining: u64 },
    ChunkedBody(ChunkDecoder),
    Failed(Refusal),
}

/// A part of a body, or its end.
#[derive(Debug, PartialEq)]
pub enum BodyEvent<'i> {
    /// Some of the body's bytes, at least one.
    Data(&'i [u8]),
    /// The body is complete. It comes once for each message that has a body.
    End {
        /// The fields behind a chunked body; `None` if there are none.
        trailers: Option<Box<HeaderMap>>,
    },
}

impl Connection {
    /// A connection on which nothing has come yet.
    pub fn new() -> Self {
        Self { state: State::BetweenMessages(EmptyLines::default()) }
    }

    /// Takes bytes off the front of `input` up to the end of the next head.
    ///
    /// `Ok(true)`: the head is in `head`, and `input` begins behind it. `Ok(false)`: all of `input` was taken
    /// and more is needed; `head` is empty, and what has come of the head is kept inside until it is
    /// complete, at most `limits.max_head_bytes`. Each call may come with another `head`. While a body is
    /// being received, it does nothing.
    ///
    /// # Errors
    ///
    /// The head is refused: `head` is empty, and the connection stays refused.
    // Never inlined: within a larger function it would have too few registers.
    #[inline(never)]
    pub fn receive_head(
        &mut self,
        input: &mut &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<bool, Refusal> {
        let received = match &mut self.state {
            State::BetweenMessages(empty_lines) => match empty_lines.skip(input) {
                Ok(true) => self.begin_head(input, head, limits),
                skipped => skipped,
            },
            _ => self.go_on_with_head(input, head, limits),
        };
        match received {
            Ok(true) => self.begin_body(head.body_length()),
            Ok(false) => head.clear(),
            Err(refusal) => {
                head.clear();
                self.state = State::Failed(refusal);
            }
        }
        received
    }

    /// Takes bytes off the front of `input` up to the end of the body's next event. `Ok(None)`: all of
    /// `input` was taken and more is needed. Outside of a body it does nothing.
    ///
    /// A body's end is told as soon as it is known: behind the last [`Data`](BodyEvent::Data) of a body with
    /// a Content-Length it needs no further input.
    ///
    /// # Errors
    ///
    /// The body is refused, and the connection stays refused.
    pub fn receive_body<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<BodyEvent<'i>>, Refusal> {
        let received = match &mut self.state {
            State::FixedBody { remaining: 0 } => Ok(Some(BodyEvent::End { trailers: None })),
            State::FixedBody { remaining } => Ok(take_data(input, remaining).map(BodyEvent::Data)),
            State::ChunkedBody(decoder) => decoder.receive(input),
            State::BetweenMessages(_) | State::Head(_) => {
                debug_assert!(false, "receive_body is called outside of a body");
                return Ok(None);
            }
            State::Failed(refusal) => return Err(*refusal),
        };
        match &received {
            Ok(Some(BodyEvent::End { .. })) => self.state = State::BetweenMessages(EmptyLines::default()),
            Ok(_) => {}
            Err(refusal) => self.state = State::Failed(*refusal),
        }
        received
    }

    /// Whether the end of a body is still to be told.
    pub fn is_receiving_body(&self) -> bool {
        matches!(self.state, State::FixedBody { .. } | State::ChunkedBody(_))
    }

    /// Whether a request has begun whose head isn't complete. Empty lines before a request line begin none.
    pub fn has_partial_head(&self) -> bool {
        matches!(self.state, State::Head(_))
    }

    /// The bytes that are still to come of a body with a Content-Length. `None` outside of such a body.
    pub fn body_remaining(&self) -> Option<u64> {
        match self.state {
            State::FixedBody { remaining } => Some(remaining),
            _ => None,
        }
    }

    /// So many bytes of a body with a Content-Length were received by somebody else. With its last, the body is over, and no
    /// [`BodyEvent::End`] tells of that.
    pub fn skip_body(&mut self, bytes: u64) {
        let State::FixedBody { remaining } = &mut self.state else {
            debug_assert!(bytes == 0, "skip_body is called outside of a body with a length");
            return;
        };
        *remaining = remaining.saturating_sub(bytes);
        if *remaining == 0 {
            self.state = State::BetweenMessages(EmptyLines::default());
        }
    }

    /// Reads the head from `input` itself; only if it isn't complete there, what has come is kept.
    #[inline]
    fn begin_head(
        &mut self,
        input: &mut &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<bool, Refusal> {
        let mut parser = HeadParser::default();
        head.begin();
        let length = match parser.parse(input, head, limits) {
            Ok(length) => length,
            Err(Stop::Refused(refusal)) => return Err(refusal),
            Err(Stop::Incomplete) => {
                self.state = State::Head(PartialHead::begin(input, head, parser));
                return Ok(false);
            }
        };
        let (bytes, rest) = input.split_at(length);
        head.set_bytes(bytes);
        *input = rest;
        Ok(true)
    }

    #[cold]
    fn go_on_with_head(
        &mut self,
        input: &mut &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<bool, Refusal> {
        match &mut self.state {
            State::Head(partial) => partial.receive(input, head, limits),
            State::Failed(refusal) => Err(*refusal),
            State::BetweenMessages(_) | State::FixedBody { .. } | State::ChunkedBody(_) => {
                debug_assert!(false, "receive_head is called within a body");
                Ok(false)
            }
        }
    }

    #[inline(always)]
    fn begin_body(&mut self, length: BodyLength) {
        match &mut self.state {
            State::BetweenMessages(empty_lines) if length == BodyLength::None => {
                *empty_lines = EmptyLines::default();
            }
            state => *state = State::behind_head(length),
        }
    }
}

impl State {
    /// What comes behind a head.
    #[inline(never)]
    fn behind_head(length: BodyLength) -> Self {
        match length {
            BodyLength::None => Self::BetweenMessages(EmptyLines::default()),
            BodyLength::Fixed(length) => Self::FixedBody { remaining: length },
            BodyLength::Chunked => Self::ChunkedBody(ChunkDecoder::new()),
        }
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self::new()
    }
}

/// The empty lines before a request line.
#[derive(Debug, Default)]
struct EmptyLines {
    count: u8,
    after_carriage_return: bool,
}

impl EmptyLines {
    /// Takes empty lines off the front of `input`. Whether a request line's first byte is there then.
    #[inline]
    fn skip(&mut self, input: &mut &[u8]) -> Result<bool, Refusal> {
        match input.first() {
            Some(b'\r' | b'\n') => self.skip_some(input),
            Some(_) if self.after_carriage_return => Err(Refusal::BareCarriageReturn),
            first => Ok(first.is_some()),
        }
    }

    #[cold]
    fn skip_some(&mut self, input: &mut &[u8]) -> Result<bool, Refusal> {
        while let Some((&byte, rest)) = input.split_first() {
            match (byte, self.after_carriage_return) {
                (b'\n', true) if self.count == MAX_LEADING_EMPTY_LINES => {
                    return Err(Refusal::TooManyEmptyLines);
                }
                (b'\n', true) => self.count += 1,
                (_, true) => return Err(Refusal::BareCarriageReturn),
                (b'\r', false) => {}
                (_, false) => return Ok(true),
            }
            self.after_carriage_return = byte == b'\r';
            *input = rest;
        }
        Ok(false)
    }
}

/// What has come of a head that isn't complete.
#[derive(Debug)]
struct PartialHead {
    bytes: Vec<u8>,
    head: Head,
    parser: HeadParser,
}

impl PartialHead {
    /// Takes all of `input`, of which `parser` has read the part that is in `head`, and empties that.
    #[cold]
    fn begin(input: &mut &[u8], head: &mut Head, parser: HeadParser) -> Box<Self> {
        let bytes = std::mem::take(input).to_vec();
        let partial = Box::new(Self { bytes, head: head.clone(), parser });
        head.clear();
        partial
    }

    /// Takes bytes off the front of `input` up to the end of the head, which is `head` then.
    #[cold]
    fn receive(&mut self, input: &mut &[u8], head: &mut Head, limits: &HeadLimits) -> Result<bool, Refusal> {
        let length_before = self.bytes.len();
        let room = limits.max_head_bytes.saturating_sub(length_before);
        self.bytes.extend_from_slice(&input[..input.len().min(room)]);
        let length = match self.parser.parse(&self.bytes, &mut self.head, limits) {
            Ok(length) => length,
            Err(Stop::Refused(refusal)) => return Err(refusal),
            Err(Stop::Incomplete) => {
                *input = &[];
                return Ok(false);
            }
        };
        *input = &input[length - length_before..];
        std::mem::swap(head, &mut self.head);
        head.set_bytes(&self.bytes[..length]);
        Ok(true)
    }
}
