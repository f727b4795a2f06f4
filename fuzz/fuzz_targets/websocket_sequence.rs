//! Whatever two ends say to each other arrives, in order, however it is cut and whatever they agreed on.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tayet_fuzz::{Agreement, pieces};
use tayet_websocket::{
    CloseCode, CloseFrame, Codec, DeflateAgreement, Event, MAX_CONTROL_PAYLOAD_BYTES, Message, Receiver,
    Role, Sender, SharedMessage,
};

const MAX_MESSAGE_BYTES: usize = 1 << 20;

#[derive(Arbitrary, Debug)]
struct Case {
    deflate: Option<Agreement>,
    pieces: Vec<u8>,
    steps: Vec<(Direction, Step)>,
}

#[derive(Arbitrary, Copy, Clone, Debug)]
enum Direction {
    Up,
    Down,
}

#[derive(Arbitrary, Debug)]
enum Step {
    Text(String),
    Binary(Vec<u8>),
    /// The same many times over, so that windows fill up.
    Repeated(Vec<u8>, u8),
    Shared(String),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    ReleaseIdle,
    Close(u16, String),
}

/// What one end sends with and the other receives with.
struct Half {
    sender: Sender,
    receiver: Receiver,
    is_open: bool,
}

fuzz_target!(|case: Case| {
    let deflate = case.deflate.as_ref().map(Agreement::negotiate);
    let client = Role::Client(|| [0x12, 0x34, 0x56, 0x78]);
    let mut codec = Codec::new();
    let (mut up, mut down) =
        (Half::new(client, Role::Server, deflate), Half::new(Role::Server, client, deflate));
    for (direction, step) in case.steps {
        let half = match direction {
            Direction::Up => &mut up,
            Direction::Down => &mut down,
        };
        if half.is_open {
            let (bytes, expected) = half.take_step(step, direction, &mut codec);
            half.expect(&bytes, &case.pieces, expected, &mut codec);
        }
    }
});

impl Half {
    fn new(from: Role, to: Role, deflate: Option<DeflateAgreement>) -> Self {
        Self { sender: Sender::new(from, deflate), receiver: Receiver::new(to, deflate), is_open: true }
    }

    /// What is sent, and what must come of it.
    fn take_step(&mut self, step: Step, direction: Direction, codec: &mut Codec) -> (Vec<u8>, Option<Event>) {
        let mut out = Vec::new();
        let expected = match (step, direction) {
            (Step::Text(text), _) => self.send(text.into(), codec, &mut out),
            (Step::Binary(bytes), _) => self.send(bytes.into(), codec, &mut out),
            (Step::Repeated(bytes, times), _) => {
                let length = bytes.len() * usize::from(times);
                let repeated = if length <= MAX_MESSAGE_BYTES { bytes.repeat(times.into()) } else { bytes };
                self.send(repeated.into(), codec, &mut out)
            }
            (Step::Shared(text), Direction::Up) => self.send(text.into(), codec, &mut out),
            (Step::Shared(text), Direction::Down) => {
                let shared = SharedMessage::new(text.into());
                out.extend(shared.frame(self.sender.deflate(), codec));
                self.sender.sent_shared();
                Event::Message(shared.message().clone())
            }
            (Step::Ping(mut payload), _) => {
                self.sender.ping(&payload, &mut out);
                payload.truncate(MAX_CONTROL_PAYLOAD_BYTES);
                Event::Ping(payload.into())
            }
            (Step::Pong(mut payload), _) => {
                self.sender.pong(&payload, &mut out);
                payload.truncate(MAX_CONTROL_PAYLOAD_BYTES);
                Event::Pong(payload.into())
            }
            (Step::ReleaseIdle, _) => {
                self.sender.release_idle();
                self.receiver.release_idle();
                return (out, None);
            }
            (Step::Close(code, reason), _) => {
                let frame = CloseCode::new(code).map(|code| CloseFrame::new(code, reason));
                self.sender.close(frame.as_ref(), &mut out);
                self.is_open = false;
                Event::Close(frame)
            }
        };
        (out, Some(expected))
    }

    fn send(&mut self, message: Message, codec: &mut Codec, out: &mut Vec<u8>) -> Event {
        if let Some(tail) = self.sender.message(&message, codec, out) {
            out.extend(tail);
        }
        Event::Message(message)
    }

    fn expect(&mut self, bytes: &[u8], lengths: &[u8], expected: Option<Event>, codec: &mut Codec) {
        let mut received = Vec::new();
        for piece in pieces(bytes, lengths) {
            let mut input = piece;
            while let Some(event) = self
                .receiver
                .receive(&mut input, MAX_MESSAGE_BYTES, codec)
                .expect("the other end keeps to the protocol")
            {
                received.push(event);
            }
            assert!(input.is_empty());
        }
        assert_eq!(received, Vec::from_iter(expected));
    }
}
