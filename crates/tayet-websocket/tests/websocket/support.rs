//! Feeds frames to a receiver and tells what came of them, as text.

use std::fmt::Write as _;

use tayet_websocket::{Codec, DeflateAgreement, Event, Message, Receiver, Role};

pub(crate) const CLIENT: Role = Role::Client(|| [0x12, 0x34, 0x56, 0x78]);
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;

const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
/// Longer input is cut at some points only.
const MAX_CUT_EVERYWHERE_BYTES: usize = 600;
/// Longer messages are shown by their length only.
const MAX_SHOWN_BYTES: usize = 64;

/// A frame to be sent, good or bad.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    first_byte: u8,
    length: Length,
    has_wrong_mask: bool,
    payload: Vec<u8>,
}

/// How the payload's length is written.
#[derive(Copy, Clone, Debug)]
enum Length {
    Shortest,
    In2Bytes(u16),
    In8Bytes(u64),
}

pub(crate) fn frame(first_byte: u8, payload: impl AsRef<[u8]>) -> Frame {
    let payload = payload.as_ref().to_vec();
    Frame { first_byte, length: Length::Shortest, has_wrong_mask: false, payload }
}

pub(crate) fn text(payload: impl AsRef<[u8]>) -> Frame {
    frame(FIN | 0x1, payload)
}

pub(crate) fn binary(payload: impl AsRef<[u8]>) -> Frame {
    frame(FIN | 0x2, payload)
}

pub(crate) fn continuation(payload: impl AsRef<[u8]>) -> Frame {
    frame(FIN, payload)
}

pub(crate) fn ping(payload: impl AsRef<[u8]>) -> Frame {
    frame(FIN | 0x9, payload)
}

pub(crate) fn pong(payload: impl AsRef<[u8]>) -> Frame {
    frame(FIN | 0xa, payload)
}

pub(crate) fn close(code: u16, reason: impl AsRef<[u8]>) -> Frame {
    frame(FIN | 0x8, [&code.to_be_bytes()[..], reason.as_ref()].concat())
}

impl Frame {
    /// More fragments follow.
    pub(crate) fn more(self) -> Self {
        Self { first_byte: self.first_byte & !FIN, ..self }
    }

    /// With reserved bits set: 4, 2 and 1 are RSV1, RSV2 and RSV3.
    pub(crate) fn reserved(self, bits: u8) -> Self {
        Self { first_byte: self.first_byte | bits << 4, ..self }
    }

    /// With this length in two bytes, whatever the payload's is.
    pub(crate) fn length_in_2_bytes(self, length: u16) -> Self {
        Self { length: Length::In2Bytes(length), ..self }
    }

    /// With this length in eight bytes, whatever the payload's is.
    pub(crate) fn length_in_8_bytes(self, length: u64) -> Self {
        Self { length: Length::In8Bytes(length), ..self }
    }

    /// Masked by a server, or not masked by a client.
    pub(crate) fn wrongly_masked(self) -> Self {
        Self { has_wrong_mask: true, ..self }
    }

    /// The frame as `receiver` gets it.
    pub(crate) fn bytes(&self, receiver: Role) -> Vec<u8> {
        let is_masked = matches!(receiver, Role::Server) != self.has_wrong_mask;
        let masked = if is_masked { MASKED } else { 0 };
        let mut bytes = vec![self.first_byte];
        match (self.length, self.payload.len()) {
            (Length::Shortest, length @ ..=125) => bytes.push(masked | length as u8),
            (Length::Shortest, length @ ..=0xffff) => push_length(&mut bytes, masked, length as u16),
            (Length::In2Bytes(length), _) => push_length(&mut bytes, masked, length),
            (Length::Shortest, length) => push_long_length(&mut bytes, masked, length as u64),
            (Length::In8Bytes(length), _) => push_long_length(&mut bytes, masked, length),
        }
        if is_masked {
            let key = [0x37, 0xfa, 0x21, 0x3d];
            bytes.extend_from_slice(&key);
            bytes.extend(self.payload.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key));
        } else {
            bytes.extend_from_slice(&self.payload);
        }
        bytes
    }
}

fn push_length(bytes: &mut Vec<u8>, masked: u8, length: u16) {
    bytes.push(masked | 126);
    bytes.extend_from_slice(&length.to_be_bytes());
}

fn push_long_length(bytes: &mut Vec<u8>, masked: u8, length: u64) {
    bytes.push(masked | 127);
    bytes.extend_from_slice(&length.to_be_bytes());
}

/// Rows of frames and what must come of them, at either end and however the bytes are cut.
pub(crate) fn check(table: &[(&[Frame], &str)]) {
    for (frames, expected) in table {
        for role in [Role::Server, CLIENT] {
            let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(role)).collect();
            let outcome = Setting::new(role).outcome_however_cut(&bytes);
            assert_eq!(outcome, *expected, "{role:?} gets {}", show(&bytes));
        }
    }
}

/// What a receiver is made with.
#[derive(Copy, Clone)]
pub(crate) struct Setting {
    pub(crate) role: Role,
    pub(crate) deflate: Option<DeflateAgreement>,
    pub(crate) max_message_bytes: usize,
}

impl Setting {
    pub(crate) fn new(role: Role) -> Self {
        Self { role, deflate: None, max_message_bytes: MAX_MESSAGE_BYTES }
    }

    /// What comes of `pieces`, one event a part, for instance `text "hello" | ping "x" | close 1000 ""`.
    pub(crate) fn outcome<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut receiver, mut codec) = (Receiver::new(self.role, self.deflate), Codec::new());
        let mut parts = Vec::new();
        for piece in pieces {
            let mut input = piece;
            loop {
                match receiver.receive(&mut input, self.max_message_bytes, &mut codec) {
                    Ok(Some(Event::Close(frame))) => {
                        parts.push(describe(&Event::Close(frame)));
                        assert_takes_nothing(&mut receiver, Ok(None));
                        return parts.join(" | ");
                    }
                    Ok(Some(event)) => parts.push(describe(&event)),
                    Ok(None) => break,
                    Err(failure) => {
                        parts.push(format!("{} {failure:?}", failure.code()));
                        assert_takes_nothing(&mut receiver, Err(failure));
                        return parts.join(" | ");
                    }
                }
            }
            assert!(input.is_empty(), "more is wanted, but not all was taken");
        }
        if receiver.is_within_message() {
            parts.push("partial".to_owned());
        }
        parts.join(" | ")
    }

    /// What comes of `bytes` in brief: the length of each message, the code of a close frame, no more of a
    /// failure than that there is one, and nothing of what is partial.
    pub(crate) fn lengths(&self, bytes: &[u8]) -> Vec<String> {
        let (mut receiver, mut codec) = (Receiver::new(self.role, self.deflate), Codec::new());
        let (mut input, mut parts) = (bytes, Vec::new());
        loop {
            parts.push(match receiver.receive(&mut input, self.max_message_bytes, &mut codec) {
                Ok(Some(Event::Message(Message::Text(text)))) => format!("text {}", text.len()),
                Ok(Some(Event::Message(Message::Binary(bytes)))) => format!("binary {}", bytes.len()),
                Ok(Some(Event::Ping(payload))) => format!("ping {}", payload.len()),
                Ok(Some(Event::Pong(payload))) => format!("pong {}", payload.len()),
                Ok(Some(Event::Close(None))) => "close".to_owned(),
                Ok(Some(Event::Close(Some(frame)))) => format!("close {}", frame.code()),
                Ok(None) => return parts,
                Err(_) => "failure".to_owned(),
            });
            if parts.last().is_some_and(|part| part == "failure") {
                return parts;
            }
        }
    }

    /// What comes of `bytes` as a whole, having made sure that it is the same byte by byte and cut at each
    /// point.
    pub(crate) fn outcome_however_cut(&self, bytes: &[u8]) -> String {
        let whole = self.outcome([bytes]);
        if bytes.len() <= MAX_CUT_EVERYWHERE_BYTES {
            assert_eq!(self.outcome(bytes.chunks(1)), whole, "byte by byte: {}", show(bytes));
            for at in 0..=bytes.len() {
                let (first, second) = bytes.split_at(at);
                assert_eq!(self.outcome([first, second]), whole, "cut at {at}: {}", show(bytes));
            }
        }
        for length in [3, 1_024, 4_095, 65_536] {
            assert_eq!(self.outcome(bytes.chunks(length)), whole, "by {length}: {}", show(bytes));
        }
        whole
    }
}

fn assert_takes_nothing(receiver: &mut Receiver, outcome: Result<Option<Event>, tayet_websocket::Failure>) {
    let more = [text("more").bytes(Role::Server), text("more").bytes(CLIENT)].concat();
    let mut input = &more[..];
    assert_eq!(receiver.receive(&mut input, MAX_MESSAGE_BYTES, &mut Codec::new()), outcome);
    assert_eq!(input.len(), more.len());
}

fn describe(event: &Event) -> String {
    match event {
        Event::Message(Message::Text(text)) => format!("text {}", show(text.as_bytes())),
        Event::Message(Message::Binary(bytes)) => format!("binary {}", show(bytes)),
        Event::Ping(payload) => format!("ping {}", show(payload)),
        Event::Pong(payload) => format!("pong {}", show(payload)),
        Event::Close(None) => "close".to_owned(),
        Event::Close(Some(frame)) => format!("close {} {}", frame.code(), show(frame.reason().as_bytes())),
    }
}

fn show(bytes: &[u8]) -> String {
    let mut shown = String::new();
    match str::from_utf8(bytes) {
        _ if bytes.len() > MAX_SHOWN_BYTES => write!(shown, "of {} bytes", bytes.len()),
        Ok(text) => write!(shown, "{text:?}"),
        Err(_) => write!(shown, "{:?}", bytes.escape_ascii().to_string()),
    }
    .expect("a string takes everything");
    shown
}
