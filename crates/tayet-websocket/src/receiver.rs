//! The receiving side of a connection.

use bytes::Bytes;

use crate::deflate_settings::Direction;
use crate::header::{Expectation, Header, MAX_HEADER_BYTES, Opcode};
use crate::partial_message::{PartialMessage, Piece};
use crate::window::Window;
use crate::{CloseCode, CloseFrame, Codec, DeflateAgreement, Event, Failure, Message, Role, Text};

/// What an idle connection may cost.
const MAX_RECEIVER_BYTES: usize = 48;

const _: () = assert!(size_of::<Receiver>() <= MAX_RECEIVER_BYTES);

/// The receiving side of one connection: bytes in, events out.
///
/// It is small, and between messages it owns no memory but the window of a peer that takes its compression
/// context over. It grows with what has come, never with what a header announces.
#[derive(Debug)]
pub struct Receiver {
    state: State,
    window: Window,
    is_server: bool,
    compression: Option<Direction>,
}

#[derive(Debug)]
enum State {
    /// Neither a frame nor a message has begun.
    Between,
    Within(Box<Partial>),
    Closed,
    Failed(Failure),
}

impl Receiver {
    /// A receiver for what comes behind the handshake. `deflate` is what was agreed on there.
    pub fn new(role: Role, deflate: Option<DeflateAgreement>) -> Self {
        Self {
            state: State::Between,
            window: Window::default(),
            is_server: role.is_server(),
            compression: deflate.map(|agreement| agreement.received_by(role)),
        }
    }

    /// Takes bytes off the front of `input` up to the end of the next event. `Ok(None)`: all of `input` was
    /// taken and more is needed.
    ///
    /// Control frames between the fragments of a message come out before it. Behind an [`Event::Close`]
    /// nothing more is taken, since nothing that comes then means anything (RFC 6455 section 5.5.1).
    ///
    /// `max_message_bytes` is for a message as the application gets it, fragments put together and inflated;
    /// past it [`MessageTooBig`](Failure::MessageTooBig), as soon as a header or what was inflated tells.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol. The receiver fails in the same way ever after, and takes nothing more.
    #[inline]
    pub fn receive(
        &mut self,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
        let received = match &mut self.state {
            State::Between => self.receive_frame(input, max_message_bytes, codec),
            State::Within(_) => self.go_on(input, max_message_bytes, codec),
            State::Closed => return Ok(None),
            State::Failed(failure) => return Err(*failure),
        };
        match &received {
            Ok(Some(Event::Close(_))) => self.state = State::Closed,
            Ok(_) => {}
            Err(failure) => self.state = State::Failed(*failure),
        }
        received
    }

    /// Whether a frame or a message has begun that isn't complete.
    pub fn is_within_message(&self) -> bool {
        matches!(self.state, State::Within(_))
    }

    /// Gives back memory that isn't needed between messages.
    pub fn release_idle(&mut self) {
        self.window.release_idle();
    }

    /// Reads a frame from `input` itself; only if it isn't complete there, or not the only one of its
    /// message, what has come is kept.
    fn receive_frame(
        &mut self,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
        if input.is_empty() {
            return Ok(None);
        }
        let header = Header::parse(input, self.expectation(None))?;
        let whole = header.filter(|(header, header_bytes)| {
            header.is_final && header.payload_bytes <= (input.len() - header_bytes) as u64
        });
        let Some((header, header_bytes)) = whole else {
            self.state = State::Within(Box::default());
            return self.go_on(input, max_message_bytes, codec);
        };
        if !header.opcode.is_control() && !header.is_compressed {
            check_size(header.payload_bytes, max_message_bytes)?;
        }
        let (frame, rest) = input.split_at(header_bytes + header.payload_bytes as usize);
        *input = rest;
        let payload = &frame[header_bytes..];
        if header.is_compressed {
            return self.receive_compressed(&header, payload, max_message_bytes, codec).map(Some);
        }
        let mut bytes = payload.to_vec();
        if let Some(mut mask) = header.mask {
            mask.apply(&mut bytes);
        }
        event(header.opcode, bytes).map(Some)
    }

    /// A compressed message that has come whole, in one frame.
    fn receive_compressed(
        &mut self,
        header: &Header,
        payload: &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Event, Failure> {
        let mut message = PartialMessage::begin(header, &self.window, codec);
        message.check_size(header.payload_bytes, max_message_bytes)?;
        let piece = Piece { payload, remaining: Some(payload.len()) };
        match header.mask {
            Some(mut mask) => {
                message.push_masked(piece, &mut mask, max_message_bytes, &self.window, codec)?;
            }
            None => message.push(piece, max_message_bytes, &self.window, codec)?,
        }
        self.finish(message, max_message_bytes, codec)
    }

    #[cold]
    fn go_on(
        &mut self,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
        let State::Within(mut partial) = std::mem::replace(&mut self.state, State::Between) else {
            unreachable!("it goes on within a frame or message only")
        };
        let received = self.advance(&mut partial, input, max_message_bytes, codec);
        if !partial.is_empty() {
            self.state = State::Within(partial);
        }
        received
    }

    fn advance(
        &mut self,
        partial: &mut Partial,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
        loop {
            if partial.frame.is_none() {
                let expectation = self.expectation(partial.message.as_ref());
                let Some(header) = partial.header.receive(input, expectation)? else { return Ok(None) };
                self.begin_frame(partial, header, max_message_bytes, codec)?;
            }
            let Some(frame) = &mut partial.frame else { unreachable!("a frame has begun") };
            let piece = frame.take(input);
            let is_complete = frame.remaining == 0;
            if frame.header.opcode.is_control() {
                frame.unmask_to(&mut partial.control, piece.payload);
                if is_complete {
                    return partial.end_control_frame().map(Some);
                }
                return Ok(None);
            }
            let Some(message) = &mut partial.message else { unreachable!("a message has begun") };
            match &mut frame.header.mask {
                Some(mask) => message.push_masked(piece, mask, max_message_bytes, &self.window, codec)?,
                None => message.push(piece, max_message_bytes, &self.window, codec)?,
            }
            if !is_complete {
                return Ok(None);
            }
            let is_final = frame.header.is_final;
            partial.frame = None;
            if is_final && let Some(message) = partial.message.take() {
                return self.finish(message, max_message_bytes, codec).map(Some);
            }
        }
    }

    fn begin_frame(
        &mut self,
        partial: &mut Partial,
        header: Header,
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<(), Failure> {
        if !header.opcode.is_control() {
            let message =
                partial.message.get_or_insert_with(|| PartialMessage::begin(&header, &self.window, codec));
            message.check_size(header.payload_bytes, max_message_bytes)?;
        }
        partial.frame = Some(Frame { header, remaining: header.payload_bytes });
        Ok(())
    }

    fn finish(
        &mut self,
        message: PartialMessage,
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Event, Failure> {
        let is_compressed = message.is_compressed();
        let message = message.finish(max_message_bytes, codec)?;
        if let Some(Direction { takes_context_over: true, window_bits }) = self.compression
            && is_compressed
        {
            self.window.remember(message.as_bytes(), 1 << window_bits);
        }
        Ok(Event::Message(message))
    }

    fn expectation(&self, message: Option<&PartialMessage>) -> Expectation {
        Expectation {
            is_masked: self.is_server,
            may_be_compressed: self.compression.is_some(),
            is_within_message: message.is_some(),
        }
    }
}

/// What has come of a frame and of a message, each of which may have begun.
#[derive(Debug, Default)]
struct Partial {
    header: PartialHeader,
    frame: Option<Frame>,
    /// The payload of a control frame.
    control: Vec<u8>,
    message: Option<PartialMessage>,
}

/// A frame of which the header has come.
#[derive(Debug)]
struct Frame {
    header: Header,
    /// The bytes of payload that are still to come.
    remaining: u64,
}

impl Partial {
    fn is_empty(&self) -> bool {
        self.header.length == 0 && self.frame.is_none() && self.message.is_none()
    }

    fn end_control_frame(&mut self) -> Result<Event, Failure> {
        let Some(frame) = self.frame.take() else { unreachable!("a frame has begun") };
        event(frame.header.opcode, std::mem::take(&mut self.control))
    }
}

impl Frame {
    /// Takes the frame's payload off the front of `input`.
    fn take<'i>(&mut self, input: &mut &'i [u8]) -> Piece<'i> {
        let remaining = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        let (payload, rest) = input.split_at(remaining.min(input.len()));
        *input = rest;
        self.remaining -= payload.len() as u64;
        Piece { payload, remaining: self.header.is_final.then_some(remaining) }
    }

    fn unmask_to(&mut self, out: &mut Vec<u8>, payload: &[u8]) {
        let start = out.len();
        out.extend_from_slice(payload);
        if let Some(mask) = &mut self.header.mask {
            mask.apply(&mut out[start..]);
        }
    }
}

/// The bytes of a header that isn't complete.
#[derive(Debug, Default)]
struct PartialHeader {
    bytes: [u8; MAX_HEADER_BYTES],
    length: usize,
}

impl PartialHeader {
    /// Takes a header off the front of `input`. `None`: all was taken and more is needed.
    fn receive(&mut self, input: &mut &[u8], expectation: Expectation) -> Result<Option<Header>, Failure> {
        if self.length == 0
            && let Some((header, length)) = Header::parse(input, expectation)?
        {
            *input = &input[length..];
            return Ok(Some(header));
        }
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes[self.length] = byte;
            self.length += 1;
            if let Some((header, _)) = Header::parse(&self.bytes[..self.length], expectation)? {
                self.length = 0;
                return Ok(Some(header));
            }
        }
        Ok(None)
    }
}

/// What a message or control frame says whose payload is `bytes`.
#[inline]
fn event(opcode: Opcode, bytes: Vec<u8>) -> Result<Event, Failure> {
    match opcode {
        Opcode::Text => Ok(Event::Message(Message::Text(text(bytes)?))),
        Opcode::Ping => Ok(Event::Ping(bytes.into())),
        Opcode::Pong => Ok(Event::Pong(bytes.into())),
        Opcode::Close => close_frame(&bytes).map(Event::Close),
        Opcode::Binary | Opcode::Continuation => Ok(Event::Message(Message::Binary(Bytes::from(bytes)))),
    }
}

fn close_frame(payload: &[u8]) -> Result<Option<CloseFrame>, Failure> {
    let Some((&code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() { Ok(None) } else { Err(Failure::HalfCloseCode) };
    };
    let code = CloseCode::new(u16::from_be_bytes(code)).ok_or(Failure::InvalidCloseCode)?;
    Ok(Some(CloseFrame::new(code, text(reason.to_vec())?)))
}

fn text(bytes: Vec<u8>) -> Result<Text, Failure> {
    Ok(String::from_utf8(bytes).map_err(|_| Failure::InvalidUtf8)?.into())
}

fn check_size(payload_bytes: u64, max_message_bytes: usize) -> Result<(), Failure> {
    if payload_bytes > max_message_bytes as u64 { Err(Failure::MessageTooBig) } else { Ok(()) }
}
