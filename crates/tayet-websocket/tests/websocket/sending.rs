//! What is sent, byte for byte.

use tayet_websocket::{
    Codec, DeflateSettings, Event, MAX_CONTROL_PAYLOAD_BYTES, MIN_TAIL_BYTES, Message, Role, Sender,
    SharedMessage, Text,
};

use crate::pair::{Pair, negotiate};
use crate::support::CLIENT;

fn sent(role: Role, message: &Message) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut out = b"before".to_vec();
    let tail = Sender::new(role, None).message(message, &mut Codec::new(), &mut out);
    (out.strip_prefix(b"before").unwrap().to_vec(), tail.map(|tail| tail.to_vec()))
}

#[test]
fn the_examples_of_the_rfc() {
    const KEY: Role = Role::Client(|| [0x37, 0xfa, 0x21, 0x3d]);
    assert_eq!(sent(Role::Server, &"Hello".into()).0, b"\x81\x05\x48\x65\x6c\x6c\x6f");
    assert_eq!(sent(KEY, &"Hello".into()).0, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    let mut out = Vec::new();
    Sender::new(Role::Server, None).ping(b"Hello", &mut out);
    Sender::new(KEY, None).pong(b"Hello", &mut out);
    assert_eq!(out, b"\x89\x05\x48\x65\x6c\x6c\x6f\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    let header = |length: usize| sent(Role::Server, &vec![0; length].into()).0[..4].to_vec();
    assert_eq!(header(256), b"\x82\x7e\x01\x00");
    let (header, tail) = sent(Role::Server, &vec![7; 65_536].into());
    assert_eq!(header, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00");
    assert_eq!(tail, Some(vec![7; 65_536]));
}

#[test]
fn lengths_are_in_their_shortest_form() {
    for (length, expected) in [
        (0, &b"\x82\x00"[..]),
        (125, b"\x82\x7d"),
        (126, b"\x82\x7e\x00\x7e"),
        (65_535, b"\x82\x7e\xff\xff"),
        (65_536, b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ] {
        let (out, tail) = sent(Role::Server, &vec![1; length].into());
        assert!(out.starts_with(expected), "{length}");
        assert_eq!(out.len() + tail.map_or(0, |tail| tail.len()), expected.len() + length);
        assert_eq!(sent(CLIENT, &vec![1; length].into()).0.len(), expected.len() + 4 + length);
    }
}

#[test]
fn a_large_payload_of_a_server_is_not_copied() {
    for (length, has_tail) in [(MIN_TAIL_BYTES - 1, false), (MIN_TAIL_BYTES, true)] {
        let message = Message::from(vec![1; length]);
        let mut out = Vec::new();
        let tail = Sender::new(Role::Server, None).message(&message, &mut Codec::new(), &mut out);
        assert_eq!(tail.is_some(), has_tail);
        assert!(tail.is_none_or(|tail| tail.as_ptr() == message.as_bytes().as_ptr()));
        assert!(Sender::new(CLIENT, None).message(&message, &mut Codec::new(), &mut out).is_none());
    }
}

#[test]
fn of_a_long_ping_the_front_is_sent() {
    let mut out = Vec::new();
    Sender::new(Role::Server, None).ping(&[7; 200], &mut out);
    assert_eq!(out, [&[0x89, 125][..], &[7; MAX_CONTROL_PAYLOAD_BYTES]].concat());
}

fn settings() -> DeflateSettings {
    DeflateSettings {
        server_no_context_takeover: false,
        min_bytes: 1,
        level: 6,
        ..DeflateSettings::default()
    }
}

#[test]
fn a_shared_message_is_framed_once_for_each_way() {
    let mut codec = Codec::new();
    let agreement = |settings: &DeflateSettings| negotiate(settings, settings);
    let shared = SharedMessage::new("to all of you ".repeat(100).as_str().into());
    let plain = shared.frame(None, &mut codec);
    assert_eq!(plain, sent(Role::Server, shared.message()).0);
    assert_eq!(plain.as_ptr(), shared.clone().frame(None, &mut codec).as_ptr());

    let compressed = shared.frame(agreement(&settings()), &mut codec);
    assert_eq!(compressed[0], 0xc1);
    assert!(compressed.len() < plain.len() / 10);
    // Whether the server takes its context over makes no difference to a message by itself.
    let alone = DeflateSettings { server_no_context_takeover: true, ..settings() };
    assert_eq!(compressed.as_ptr(), shared.clone().frame(agreement(&alone), &mut codec).as_ptr());

    let small_window = DeflateSettings { server_max_window_bits: 9, ..settings() };
    let other = shared.frame(agreement(&small_window), &mut codec);
    assert_ne!(compressed.as_ptr(), other.as_ptr());
    let high_threshold = DeflateSettings { min_bytes: 10_000, ..settings() };
    assert_eq!(plain.as_ptr(), shared.frame(agreement(&high_threshold), &mut codec).as_ptr());
}

#[test]
fn shared_and_own_messages_may_alternate() {
    let agreement = negotiate(&settings(), &settings());
    let mut pair = Pair::new(agreement);
    let own = Message::from("these are words that repeat, these are words that repeat");
    let shared = SharedMessage::new("words that are shared, these are words that repeat".into());
    for _ in 0..3 {
        assert_eq!(pair.down(&own), [Event::Message(own.clone())]);
        assert_eq!(pair.down(&own), [Event::Message(own.clone())]);
        let frame = shared.frame(pair.server.sender.deflate(), &mut pair.codec);
        pair.server.sender.sent_shared();
        let received = pair.client.receive(&frame, &mut pair.codec);
        assert_eq!(received, [Event::Message(shared.message().clone())]);
    }
}

#[test]
fn a_shared_message_that_does_not_get_smaller_is_shared_as_it_is() {
    let shared = SharedMessage::new("abc".into());
    let agreement = negotiate(&settings(), &settings());
    assert_eq!(&shared.frame(agreement, &mut Codec::new())[..], b"\x81\x03abc");
}

#[test]
fn text_is_shared_by_its_clones() {
    let text = Text::from("a text".to_owned());
    assert_eq!(text.as_bytes().as_ptr(), text.clone().into_bytes().as_ptr());
    assert_eq!(text, "a text");
    assert_eq!(String::from(text), "a text");
    assert_eq!(Text::from_static("static").to_uppercase(), "STATIC");
    assert_eq!(Text::from_utf8(vec![0xe2, 0x82, 0xac].into()).unwrap(), "€");
    assert!(Text::from_utf8(vec![0xe2, 0x82].into()).is_err());
}
