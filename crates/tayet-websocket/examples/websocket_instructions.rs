//! Receives a message and sends it back, again and again, for counting instructions:
//!
//!     cargo build --release -p tayet-websocket --example websocket_instructions
//!     for n in 1000 2000; do
//!         valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/websocket_instructions 64 $n
//!     done
//!
//! The difference of the two, divided by 1000, is what one message costs there and back.

use std::hint::black_box;

use tayet_websocket::{Codec, Event, Message, Receiver, Role, Sender};

const MAX_MESSAGE_BYTES: usize = 1 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut next =
        |what| arguments.next().and_then(Result::ok).unwrap_or_else(|| panic!("{what} is missing"));
    let (length, count) = (next("the length of the text"), next("the count"));

    let (mut codec, mut frame) = (Codec::new(), Vec::new());
    let text = Message::from("weft and warp ".repeat(length / 14 + 1)[..length].to_owned());
    let client = Role::Client(|| [0x12, 0x34, 0x56, 0x78]);
    assert!(Sender::new(client, None).message(&text, &mut codec, &mut frame).is_none());

    let (mut receiver, mut sender) = (Receiver::new(Role::Server, None), Sender::new(Role::Server, None));
    let mut out = Vec::with_capacity(2 * frame.len());
    for _ in 0..count {
        let mut input = black_box(&frame[..]);
        match receiver.receive(&mut input, MAX_MESSAGE_BYTES, &mut codec) {
            Ok(Some(Event::Message(message))) => {
                out.clear();
                black_box(sender.message(&message, &mut codec, &mut out));
                black_box(&out);
            }
            other => panic!("a message was sent, and {other:?} came"),
        }
    }
}
