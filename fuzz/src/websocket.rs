//! Input for the WebSocket targets, and what comes of it.

use arbitrary::Arbitrary;
use tayet_websocket::{
    Codec, DeflateAgreement, DeflateSettings, Event, Failure, Message, Offer, Receiver, Role,
};

/// A frame, mostly a good one.
#[derive(Arbitrary, Debug)]
pub struct Frame {
    first_byte: FirstByte,
    length: Length,
    key: [u8; 4],
    payload: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum FirstByte {
    Text,
    Binary,
    TextWithMore,
    BinaryWithMore,
    CompressedText,
    CompressedBinary,
    CompressedTextWithMore,
    Continuation,
    ContinuationWithMore,
    Ping,
    Pong,
    Close,
    Other(u8),
}

#[derive(Arbitrary, Debug)]
enum Length {
    Right,
    In2Bytes(u16),
    In8Bytes(u64),
}

impl Frame {
    /// The frame's bytes, as a client sends them or as a server does.
    pub fn bytes(&self, is_masked: bool) -> Vec<u8> {
        let mask_bit = if is_masked { 0x80 } else { 0 };
        let mut bytes = vec![self.first_byte.bits()];
        match (&self.length, self.payload.len()) {
            (Length::Right, length @ ..126) => bytes.push(mask_bit | length as u8),
            (Length::Right, length @ ..0x1_0000) => {
                bytes.push(mask_bit | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            (Length::Right, length) => {
                bytes.push(mask_bit | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
            (Length::In2Bytes(length), _) => {
                bytes.push(mask_bit | 126);
                bytes.extend(length.to_be_bytes());
            }
            (Length::In8Bytes(length), _) => {
                bytes.push(mask_bit | 127);
                bytes.extend(length.to_be_bytes());
            }
        }
        if is_masked {
            bytes.extend(self.key);
            bytes.extend(self.payload.iter().zip(self.key.iter().cycle()).map(|(byte, key)| byte ^ key));
        } else {
            bytes.extend(&self.payload);
        }
        bytes
    }
}

impl FirstByte {
    fn bits(&self) -> u8 {
        match self {
            Self::Text => 0x81,
            Self::Binary => 0x82,
            Self::TextWithMore => 0x01,
            Self::BinaryWithMore => 0x02,
            Self::CompressedText => 0xc1,
            Self::CompressedBinary => 0xc2,
            Self::CompressedTextWithMore => 0x41,
            Self::Continuation => 0x80,
            Self::ContinuationWithMore => 0x00,
            Self::Ping => 0x89,
            Self::Pong => 0x8a,
            Self::Close => 0x88,
            Self::Other(byte) => *byte,
        }
    }
}

/// What two ends agree on.
#[derive(Arbitrary, Debug)]
pub struct Agreement {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: u8,
    client_max_window_bits: u8,
    level: u8,
    min_bytes: u8,
}

impl Agreement {
    /// Has two ends with these settings negotiate.
    pub fn negotiate(&self) -> DeflateAgreement {
        let settings = DeflateSettings {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover,
            server_max_window_bits: 8 + self.server_max_window_bits % 8,
            client_max_window_bits: 8 + self.client_max_window_bits % 8,
            level: u32::from(self.level % 10),
            min_bytes: usize::from(self.min_bytes),
        };
        let text = settings.offer();
        let fields = |name: &str| match name {
            "upgrade" => vec![&b"websocket"[..]],
            "connection" => vec![&b"upgrade"[..]],
            "sec-websocket-version" => vec![&b"13"[..]],
            "sec-websocket-key" => vec![&b"dGhlIHNhbXBsZSBub25jZQ=="[..]],
            "sec-websocket-extensions" => vec![text.as_bytes()],
            _ => vec![],
        };
        let offer = Offer::read("GET", true, fields).expect("the request is in order");
        let (agreement, answer) = offer.negotiate_deflate(&settings).expect("the offer is acceptable");
        assert_eq!(settings.agree(&answer), Some(agreement));
        agreement
    }
}

/// What came of some input.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// What was told, a close frame the last.
    pub events: Vec<Event>,
    /// How the peer broke the protocol, if it did.
    pub failure: Option<Failure>,
    is_partial: bool,
}

/// What comes of `pieces`.
pub fn outcome<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    role: Role,
    deflate: Option<DeflateAgreement>,
    max_message_bytes: usize,
) -> Outcome {
    let (mut receiver, mut codec) = (Receiver::new(role, deflate), Codec::new());
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = piece;
        loop {
            match receiver.receive(&mut input, max_message_bytes, &mut codec) {
                Ok(Some(event)) => {
                    if let Event::Message(message) = &event {
                        assert!(message.len() <= max_message_bytes);
                        assert!(is_utf8_if_text(message));
                    }
                    events.push(event);
                }
                Ok(None) => break,
                Err(failure) => return Outcome { events, failure: Some(failure), is_partial: false },
            }
        }
        assert!(input.is_empty() || matches!(events.last(), Some(Event::Close(_))), "not all was taken");
    }
    Outcome { events, failure: None, is_partial: receiver.is_within_message() }
}

fn is_utf8_if_text(message: &Message) -> bool {
    !message.is_text() || str::from_utf8(message.as_bytes()).is_ok()
}
