//! What holds for any messages, any agreement and any cut.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tayet_websocket::{DeflateSettings, Event, Message, Role, SharedMessage};

use crate::pair::{Pair, negotiate};
use crate::support::{CLIENT, Frame, MAX_MESSAGE_BYTES, Setting, frame};

/// Something that happens on a connection.
#[derive(Clone, Debug)]
enum Step {
    Up(Message),
    Down(Message),
    SharedDown(Message),
    Release,
}

fn message() -> impl Strategy<Value = Message> {
    let words = vec(prop::sample::select(&["weft ", "warp ", "ü€😀", "\0", "shuttle"][..]), 0..2_000);
    prop_oneof![
        ".{0,40}".prop_map(Message::from),
        vec(any::<u8>(), 0..300).prop_map(Message::from),
        words.prop_map(|words| Message::from(words.concat())),
        (any::<u8>(), 0..100_000usize).prop_map(|(byte, length)| Message::from(vec![byte; length])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => message().prop_map(Step::Up),
        3 => message().prop_map(Step::Down),
        1 => message().prop_map(Step::SharedDown),
        1 => Just(Step::Release),
    ]
}

fn settings() -> impl Strategy<Value = DeflateSettings> {
    (any::<[bool; 2]>(), 8..=15u8, 8..=15u8, 0..=9u32, 0..200usize).prop_map(
        |([server_no_context_takeover, client_no_context_takeover], server, client, level, min_bytes)| {
            DeflateSettings {
                server_no_context_takeover,
                client_no_context_takeover,
                server_max_window_bits: server,
                client_max_window_bits: client,
                level,
                min_bytes,
            }
        },
    )
}

/// The pieces of `bytes` between the cuts.
fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let first_byte = prop_oneof![
        8 => prop::sample::select(&[0x81, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a, 0xc1, 0xc2, 0x41][..]),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        ".{0,20}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..20),
        vec(any::<u8>(), 120..130),
        Just(b"\xf2\x48\xcd\xc9\xc9\x07\x00".to_vec()),
        Just(b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00".to_vec()),
        Just(vec![0]),
    ];
    (first_byte, payload).prop_map(|(first_byte, payload)| frame(first_byte, payload))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sent_is_received_however_it_is_cut(
        client in prop::option::weighted(0.8, settings()),
        server in settings(),
        steps in vec(step(), 1..12),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let mut pair = Pair::new(client.and_then(|client| negotiate(&client, &server)));
        for step in &steps {
            let Pair { codec, server, client, .. } = &mut pair;
            let (bytes, message, receiver) = match step {
                Step::Up(message) => (client.frame(message, codec), message, server),
                Step::Down(message) => (server.frame(message, codec), message, client),
                Step::SharedDown(message) => {
                    let frame = SharedMessage::new(message.clone()).frame(server.sender.deflate(), codec);
                    server.sender.sent_shared();
                    (frame.to_vec(), message, client)
                }
                Step::Release => {
                    server.sender.release_idle();
                    server.receiver.release_idle();
                    client.sender.release_idle();
                    client.receiver.release_idle();
                    continue;
                }
            };
            let mut received = Vec::new();
            for piece in cut(&bytes, &cuts) {
                let mut input = piece;
                while let Some(event) = receiver.receiver.receive(&mut input, MAX_MESSAGE_BYTES, codec)? {
                    received.push(event);
                }
                prop_assert!(input.is_empty());
            }
            prop_assert_eq!(received, [Event::Message(message.clone())]);
        }
    }

    #[test]
    fn any_frames_have_the_same_outcome_however_they_are_cut(
        frames in vec(any_frame(), 0..8),
        deflate in prop::option::of(settings()),
        max_message_bytes in 0..200usize,
        damages in vec((any::<Index>(), any::<u8>()), 0..2),
        cuts in vec(any::<Index>(), 1..12),
        is_server: bool,
    ) {
        let role = if is_server { Role::Server } else { CLIENT };
        let mut bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(role)).collect();
        for (place, byte) in damages.iter().filter(|_| !frames.is_empty()) {
            let place = place.index(bytes.len());
            bytes[place] = *byte;
        }
        let deflate = deflate.and_then(|settings| negotiate(&settings, &settings));
        let setting = Setting { role, deflate, max_message_bytes };
        let whole = setting.outcome([&bytes[..]]);
        prop_assert_eq!(&setting.outcome(cut(&bytes, &cuts)), &whole);
        prop_assert_eq!(setting.outcome(bytes.chunks(1)), whole);
    }
}
