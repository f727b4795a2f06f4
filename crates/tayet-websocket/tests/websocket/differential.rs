//! Whole frames mean the same to another implementation.

use std::io::{self, ErrorKind, Read, Write};

use proptest::collection::vec;
use proptest::prelude::*;
use tayet_websocket::Role;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

use crate::support::{CLIENT, Frame, Setting, close, frame};

const MAX_MESSAGE_BYTES: usize = 150;

/// A connection on which everything has come that will, and on which nobody looks at what is sent.
struct Wire<'b>(&'b [u8]);

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { self.0.read(buffer) }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What comes of `bytes` there, as our own outcome says it, save for how it fails.
fn outcome_there(bytes: &[u8], role: Role) -> Vec<String> {
    let role = match role {
        Role::Server => tungstenite::protocol::Role::Server,
        Role::Client(_) => tungstenite::protocol::Role::Client,
    };
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let mut socket = WebSocket::from_raw_socket(Wire(bytes), role, Some(config));
    let mut parts = Vec::new();
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => {
                parts.push(match frame {
                    None => "close".to_owned(),
                    Some(frame) => format!("close {}", u16::from(frame.code)),
                });
                return parts;
            }
            Ok(Message::Text(text)) => parts.push(format!("text {}", text.len())),
            Ok(Message::Binary(bytes)) => parts.push(format!("binary {}", bytes.len())),
            Ok(Message::Ping(payload)) => parts.push(format!("ping {}", payload.len())),
            Ok(Message::Pong(payload)) => parts.push(format!("pong {}", payload.len())),
            Ok(Message::Frame(_)) => unreachable!("frames are never read"),
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return parts,
            Err(_) => {
                parts.push("failure".to_owned());
                return parts;
            }
        }
    }
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let first_byte = prop_oneof![
        6 => prop::sample::select(&[0x81, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a][..]),
        1 => any::<u8>().prop_filter("closing is apart", |byte| byte & 0x0f != 8),
    ];
    let payload = prop_oneof![
        ".{0,20}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..6),
        vec(97..123u8, 120..160),
    ];
    // A code that may not be sent is another one there, rather than a failure.
    let code = prop_oneof![1_000..1_004u16, 1_007..1_012u16, 3_000..5_000u16];
    prop_oneof![
        8 => (first_byte, payload).prop_map(|(first_byte, payload)| frame(first_byte, payload)),
        1 => (code, ".{0,20}").prop_map(|(code, reason)| close(code, reason)),
        1 => Just(frame(0x88, "")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_frames_mean_the_same(frames in vec(any_frame(), 0..8), is_server: bool) {
        let role = if is_server { Role::Server } else { CLIENT };
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(role)).collect();
        let setting = Setting { max_message_bytes: MAX_MESSAGE_BYTES, ..Setting::new(role) };
        prop_assert_eq!(setting.lengths(&bytes), outcome_there(&bytes, role));
    }
}
