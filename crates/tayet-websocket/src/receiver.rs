//! The receiving side of a connection.

use bytes::Bytes;

use crate::deflate_settings::Direction;
use crate::header::{Expectation, Header, MAX_HEADER_BYTES, Opcode};
use crate::mask::Mask;
use crate::partial_message::{Means, PartialMessage, Progress};
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
        let received = match std::mem::replace(&mut self.state, State::Between) {
            State::Between => self.receive_frame(input, max_message_bytes, codec),
            State::Within(partial) => self.go_on(partial, input, max_message_bytes, codec),
            State::Closed => {
                self.state = State::Closed;
                return Ok(None);
            }
            State::Failed(failure) => Err(failure),
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
    #[inline]
    fn receive_frame(
        &mut self,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
        if input.is_empty() {
            return Ok(None);
        }
        let header = Header::parse(input, self.expectation(false))?;
        let whole = header.filter(|(header, header_bytes)| {
            header.is_final && header.payload_bytes <= (input.len() - header_bytes) as u64
        });
        match whole {
            Some((header, header_bytes)) if !header.is_compressed => {
                let is_message = !header.opcode.is_control();
                if is_message && header.payload_bytes > max_message_bytes as u64 {
                    return Err(Failure::MessageTooBig);
                }
                let (frame, rest) = input.split_at(header_bytes + header.payload_bytes as usize);
                *input = rest;
                let mut bytes = frame[header_bytes..].to_vec();
                if let Some(mut mask) = header.mask {
                    mask.apply(&mut bytes);
                }
                event(header.opcode, bytes).map(Some)
            }
            Some((header, header_bytes)) => {
                *input = &input[header_bytes..];
                self.receive_compressed(&header, input, max_message_bytes, codec).map(Some)
            }
            None => self.go_on(Box::default(), input, max_message_bytes, codec),
        }
    }

    /// A compressed message that has come whole, in one frame.
    fn receive_compressed(
        &mut self,
        header: &Header,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Event, Failure> {
        let mut means = Means { max_message_bytes, window: &self.window, codec };
        let mut message = PartialMessage::begin(header, &mut means);
        message.begin_frame(header, max_message_bytes)?;
        message.receive(input, &mut means)?;
        self.finish(message, max_message_bytes, codec)
    }

    #[cold]
    fn go_on(
        &mut self,
        mut partial: Box<Partial>,
        input: &mut &[u8],
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Option<Event>, Failure> {
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
            let mut means = Means { max_message_bytes, window: &self.window, codec };
            if let Some(control) = &mut partial.control {
                if !control.receive(input) {
                    return Ok(None);
                }
                return partial.control.take().map(ControlFrame::event).transpose();
            }
            if let Some(message) = &mut partial.message {
                match message.receive(input, &mut means)? {
                    Progress::WithinFrame => return Ok(None),
                    Progress::BetweenFrames => {}
                    Progress::Complete => {
                        let message = partial.message.take();
                        return message.map(|m| self.finish(m, max_message_bytes, codec)).transpose();
                    }
                }
            }
            let expectation = self.expectation(partial.message.is_some());
            let Some(header) = partial.header.receive(input, expectation)? else { return Ok(None) };
            if header.opcode.is_control() {
                partial.control = Some(ControlFrame::begin(&header));
            } else {
                partial
                    .message
                    .get_or_insert_with(|| PartialMessage::begin(&header, &mut means))
                    .begin_frame(&header, max_message_bytes)?;
            }
        }
    }

    fn finish(
        &mut self,
        message: PartialMessage,
        max_message_bytes: usize,
        codec: &mut Codec,
    ) -> Result<Event, Failure> {
        let is_compressed = message.is_compressed();
        let message = message.finish(&mut Means { max_message_bytes, window: &self.window, codec })?;
        if let Some(Direction { takes_context_over: true, window_bits }) = self.compression
            && is_compressed
        {
            self.window.remember(message.as_bytes(), 1 << window_bits);
        }
        Ok(Event::Message(message))
    }

    fn expectation(&self, is_within_message: bool) -> Expectation {
        Expectation {
            is_masked: self.is_server,
            may_be_compressed: self.compression.is_some(),
            is_within_message,
        }
    }
}

/// What has come of a frame and of a message, each of which may have begun.
#[derive(Debug, Default)]
struct Partial {
    header: PartialHeader,
    control: Option<ControlFrame>,
    message: Option<PartialMessage>,
}

impl Partial {
    fn is_empty(&self) -> bool {
        self.header.length == 0 && self.control.is_none() && self.message.is_none()
    }
}

/// A control frame of which the header has come.
#[derive(Debug)]
struct ControlFrame {
    opcode: Opcode,
    payload: Vec<u8>,
    remaining: usize,
    mask: Option<Mask>,
}

impl ControlFrame {
    fn begin(header: &Header) -> Self {
        Self {
            opcode: header.opcode,
            payload: Vec::new(),
            remaining: header.payload_bytes as usize,
            mask: header.mask,
        }
    }

    /// Takes payload off the front of `input`; whether it is complete.
    fn receive(&mut self, input: &mut &[u8]) -> bool {
        let (piece, rest) = input.split_at(self.remaining.min(input.len()));
        *input = rest;
        self.payload.extend_from_slice(piece);
        self.remaining -= piece.len();
        self.remaining == 0
    }

    fn event(mut self) -> Result<Event, Failure> {
        if let Some(mask) = &mut self.mask {
            mask.apply(&mut self.payload);
        }
        event(self.opcode, self.payload)
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
