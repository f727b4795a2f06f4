//! permessage-deflate (RFC 7692 sections 6 and 7.2).

use tayet_websocket::{Codec, DeflateAgreement, DeflateSettings, Event, MAX_FINAL_BLOCKS, Message, Role};

use crate::pair::{Pair, negotiate};
use crate::reference::inflate;
use crate::support::{Frame, Setting, binary, continuation, ping, text};

/// `Hello` as in RFC 7692 section 7.2.3.
const HELLO: &[u8] = b"\xf2\x48\xcd\xc9\xc9\x07\x00";

fn settings() -> DeflateSettings {
    DeflateSettings {
        server_no_context_takeover: false,
        client_no_context_takeover: false,
        min_bytes: 1,
        ..DeflateSettings::default()
    }
}

fn agreement(settings: &DeflateSettings) -> DeflateAgreement {
    negotiate(settings, settings).unwrap()
}

/// Each way of agreeing on the parameters that matters to one direction.
fn all_agreements() -> Vec<DeflateAgreement> {
    let mut all = Vec::new();
    for no_context_takeover in [false, true] {
        for window_bits in 8..=15 {
            for level in [1, 6, 9] {
                all.push(agreement(&DeflateSettings {
                    server_no_context_takeover: no_context_takeover,
                    client_no_context_takeover: no_context_takeover,
                    server_max_window_bits: window_bits,
                    client_max_window_bits: window_bits,
                    level,
                    ..settings()
                }));
            }
        }
    }
    all
}

fn check(deflate: DeflateAgreement, table: &[(&[Frame], &str)]) {
    for (frames, expected) in table {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(Role::Server)).collect();
        let setting = Setting { deflate: Some(deflate), ..Setting::new(Role::Server) };
        assert_eq!(setting.outcome_however_cut(&bytes), *expected, "{frames:?}");
    }
}

/// Text that compresses about as well as text does, without end.
fn prose(seed: u32) -> impl Iterator<Item = u8> {
    let words = ["warp ", "weft ", "shuttle ", "loom ", "heddle ", "selvage ", "bobbin ", "reed\n"];
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words[(state >> 24) as usize % words.len()].bytes()
    })
    .flatten()
}

/// Bytes that don't compress, without end.
fn noise(seed: u32) -> impl Iterator<Item = u8> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
}

fn prose_of(length: usize, seed: u32) -> Message {
    String::from_utf8(prose(seed).take(length).collect()).unwrap().into()
}

#[test]
fn the_examples_of_the_rfc() {
    check(
        agreement(&settings()),
        &[
            (&[text(HELLO).reserved(4)], "text \"Hello\""),
            (&[binary(HELLO).reserved(4)], "binary \"Hello\""),
            (&[text(&HELLO[..3]).reserved(4).more(), continuation(&HELLO[3..])], "text \"Hello\""),
            // The second message refers to the first.
            (
                &[text(HELLO).reserved(4), text(b"\xf2\x00\x11\x00\x00").reserved(4)],
                "text \"Hello\" | text \"Hello\"",
            ),
            // Without compression, with BFINAL, and in two blocks.
            (&[text(b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00").reserved(4)], "text \"Hello\""),
            (&[text(b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00").reserved(4)], "text \"Hello\""),
            (&[text(b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00").reserved(4)], "text \"Hello\""),
        ],
    );
}

#[test]
fn frames_of_compressed_messages() {
    let hello = || text(HELLO).reserved(4);
    check(
        agreement(&settings()),
        &[
            (&[text("plain"), hello(), text("plain")], "text \"plain\" | text \"Hello\" | text \"plain\""),
            (
                &[
                    text(&HELLO[..1]).reserved(4).more(),
                    ping("p"),
                    continuation(&HELLO[1..4]).more(),
                    continuation("").more(),
                    continuation(&HELLO[4..]),
                ],
                "ping \"p\" | text \"Hello\"",
            ),
            (
                &[text(&HELLO[..1]).more().reserved(4), continuation(&HELLO[1..]).reserved(4)],
                "1002 ReservedBit",
            ),
            (&[text("a").more(), continuation("b").reserved(4)], "1002 ReservedBit"),
            (&[ping("p").reserved(4)], "1002 ReservedBit"),
            (&[text(HELLO).reserved(6)], "1002 ReservedBit"),
            (&[text(&HELLO[..2]).reserved(4).more()], "partial"),
        ],
    );
}

#[test]
fn empty_messages() {
    check(
        agreement(&settings()),
        &[
            (&[text([0]).reserved(4)], "text \"\""),
            (&[binary([0]).reserved(4)], "binary \"\""),
            (&[text([0]).reserved(4).more(), continuation("")], "text \"\""),
            // Some senders leave out all of it.
            (&[text("").reserved(4)], "text \"\""),
            (&[text("").reserved(4).more(), continuation("")], "text \"\""),
            (&[text([2, 0]).reserved(4), text(HELLO).reserved(4)], "text \"\" | text \"Hello\""),
        ],
    );
    let mut pair = Pair::new(Some(agreement(&settings())));
    let frame = pair.server.frame(&Message::from(""), &mut pair.codec);
    assert_eq!(frame, [0x81, 0x00], "an empty message isn't compressed");
}

#[test]
fn data_that_is_not_deflate() {
    let hello = || text(HELLO).reserved(4);
    check(
        agreement(&settings()),
        &[
            (&[text([0xff; 10]).reserved(4)], "1007 CorruptDeflate"),
            (&[text([0x06]).reserved(4)], "1007 CorruptDeflate"),
            // A stored block with a length that its complement doesn't fit.
            (&[text([0, 1, 0, 1, 0, 0]).reserved(4)], "1007 CorruptDeflate"),
            // It breaks off within a block.
            (&[text(&HELLO[..4]).reserved(4)], "1007 CorruptDeflate"),
            (&[binary([0, 6, 0, 0xf9, 0xff, b'H']).reserved(4)], "1007 CorruptDeflate"),
            // It breaks off within a block with BFINAL.
            (&[binary(&b"\xf3\x48\xcd\xc9\xc9\x07\x00"[..5]).reserved(4)], "1007 CorruptDeflate"),
            // It refers to what was never there.
            (&[text(b"\xf2\x00\x11\x00\x00").reserved(4)], "1007 CorruptDeflate"),
            (&[hello(), text([0xff; 10]).reserved(4), hello()], "text \"Hello\" | 1007 CorruptDeflate"),
            // Inflated it isn't UTF-8.
            (&[text([0, 1, 0, 0xfe, 0xff, 0xff, 0]).reserved(4)], "1007 InvalidUtf8"),
            (&[text([0, 1, 0, 0xfe, 0xff, 0xc3, 0]).reserved(4)], "1007 InvalidUtf8"),
            (&[binary([0, 1, 0, 0xfe, 0xff, 0xff, 0]).reserved(4)], "binary \"\\\\xff\""),
        ],
    );
}

#[test]
fn text_that_is_inflated_fails_before_its_message_has_ended() {
    let invalid = text([0, 1, 0, 0xfe, 0xff, 0xff]).reserved(4).more();
    check(agreement(&settings()), &[(&[invalid, ping("")], "1007 InvalidUtf8")]);
    let incomplete = text([0, 1, 0, 0xfe, 0xff, 0xc3]).reserved(4).more();
    let complete = continuation([0, 1, 0, 0xfe, 0xff, 0xa9, 0]);
    check(agreement(&settings()), &[(&[incomplete, ping(""), complete], "ping \"\" | text \"é\"")]);
}

#[test]
fn what_the_peer_takes_over_only_if_agreed() {
    let frames = [text(HELLO).reserved(4), text(b"\xf2\x00\x11\x00\x00").reserved(4)];
    let none = agreement(&DeflateSettings { client_no_context_takeover: true, ..settings() });
    check(none, &[(&frames, "text \"Hello\" | 1007 CorruptDeflate")]);
}

#[test]
fn blocks_with_bfinal() {
    let hello = b"\xf3\x48\xcd\xc9\xc9\x07\x00";
    let times = |count: u8| [hello.repeat(count.into()), vec![0]].concat();
    let most = "Hello".repeat(MAX_FINAL_BLOCKS.into());
    // A reference to what an earlier block with BFINAL has left in the window.
    let again = [&hello[..], b"\xf2\x00\x11\x00\x00"].concat();
    check(
        agreement(&settings()),
        &[
            (&[text(hello).reserved(4)], "text \"Hello\""),
            (&[text(times(2)).reserved(4)], "text \"HelloHello\""),
            (&[text(&again).reserved(4)], "text \"HelloHello\""),
            (
                &[text(&again).reserved(4), text(&again[7..]).reserved(4)],
                "text \"HelloHello\" | text \"Hello\"",
            ),
            (&[text(times(MAX_FINAL_BLOCKS)).reserved(4)], &format!("text {most:?}")),
            (&[text(times(MAX_FINAL_BLOCKS + 1)).reserved(4)], "1008 TooManyFinalBlocks"),
        ],
    );
}

#[test]
fn a_compression_bomb_is_too_big() {
    let huge = Message::from(vec![0; 64 << 20]);
    let mut pair = Pair::new(Some(agreement(&settings())));
    let frame = pair.client.frame(&huge, &mut pair.codec);
    assert!(frame.len() < 1 << 20, "{} bytes are for more than a header to tell", frame.len());
    let setting = Setting { deflate: Some(agreement(&settings())), ..Setting::new(Role::Server) };
    assert_eq!(setting.outcome([&frame[..]]), "1009 MessageTooBig");
    assert_eq!(setting.outcome(frame.chunks(100)), "1009 MessageTooBig");
}

#[test]
fn compressed_data_without_end_is_too_big_even_if_nothing_comes_of_it() {
    let setting = Setting {
        deflate: Some(agreement(&settings())),
        max_message_bytes: 1_000,
        ..Setting::new(Role::Server)
    };
    let nothing = b"\x00\x00\x00\xff\xff".repeat(20);
    let mut bytes = text("").reserved(4).more().bytes(Role::Server);
    for _ in 0..20 {
        bytes.extend(continuation(&nothing).more().bytes(Role::Server));
    }
    assert_eq!(setting.outcome([&bytes[..]]), "1009 MessageTooBig");
    assert_eq!(setting.outcome(bytes.chunks(1)), "1009 MessageTooBig");
    let bytes = text(nothing.repeat(20)).reserved(4).bytes(Role::Server);
    assert_eq!(setting.outcome([&bytes[..20]]), "1009 MessageTooBig");
}

#[test]
fn an_inflated_message_may_have_just_as_many_bytes_as_are_allowed() {
    for (length, expected) in [(10_000, "text of 10000 bytes"), (10_001, "1009 MessageTooBig")] {
        let mut pair = Pair::new(Some(agreement(&settings())));
        let frame = pair.client.frame(&prose_of(length, 1), &mut pair.codec);
        let setting = Setting {
            deflate: Some(agreement(&settings())),
            max_message_bytes: 10_000,
            ..Setting::new(Role::Server)
        };
        assert_eq!(setting.outcome([&frame[..]]), expected);
        assert_eq!(setting.outcome(frame.chunks(7)), expected);
    }
}

#[test]
fn messages_of_all_sizes_with_each_agreement() {
    for agreement in all_agreements() {
        let mut pair = Pair::new(Some(agreement));
        for (seed, length) in
            [1, 16, 64, 256, 1_024, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 300, 40_000]
                .into_iter()
                .enumerate()
        {
            let binary = Message::from(noise(seed as u32).take(length).collect::<Vec<_>>());
            for message in [prose_of(length, seed as u32), binary, Message::from(vec![7; length])] {
                assert_eq!(pair.up(&message), [Event::Message(message.clone())], "{agreement:?}");
                assert_eq!(pair.down(&message), [Event::Message(message.clone())], "{agreement:?}");
            }
        }
    }
}

#[test]
fn another_inflater_understands_what_is_sent_and_it_refers_back_no_further_than_agreed() {
    for agreement in all_agreements() {
        let window_bytes = 1 << agreement.server_max_window_bits();
        let mut pair = Pair::new(Some(agreement));
        let (mut window, mut max_distance) = (Vec::new(), 0);
        for seed in 0..6 {
            let message = prose_of(3_000 + 2_000 * seed, 1);
            let frame = pair.server.frame(&message, &mut pair.codec);
            let header_bytes = if frame[1] < 126 { 2 } else { 4 };
            assert_eq!(frame[0], 0xc1, "it is compressed");
            let inflated = inflate(&frame[header_bytes..], &window);
            assert!(inflated.bytes == *message.as_bytes(), "{agreement:?}");
            max_distance = max_distance.max(inflated.max_distance);
            if !agreement.server_no_context_takeover() {
                window.extend(inflated.bytes);
            }
        }
        assert!(max_distance <= window_bytes, "{agreement:?}: {max_distance}");
        assert!(max_distance > window_bytes / 4 || window_bytes > 8_192, "{agreement:?}: {max_distance}");
    }
}

#[test]
fn taking_the_context_over_makes_repetition_small() {
    let message = prose_of(2_000, 1);
    let lengths = |settings: &DeflateSettings| {
        let mut pair = Pair::new(Some(agreement(settings)));
        [0; 2].map(|_| pair.server.frame(&message, &mut pair.codec).len())
    };
    let [first, second] = lengths(&DeflateSettings { level: 6, ..settings() });
    assert!(second < first / 4, "{first} and then {second} bytes");
    let [first, second] = lengths(&DeflateSettings { server_no_context_takeover: true, ..settings() });
    assert_eq!(first, second);
}

#[test]
fn a_context_that_is_released_is_begun_anew() {
    let mut pair = Pair::new(Some(agreement(&settings())));
    for _ in 0..3 {
        for seed in 0..3 {
            let message = prose_of(2_000, seed);
            assert_eq!(pair.up(&message), [Event::Message(message.clone())]);
            assert_eq!(pair.down(&message), [Event::Message(message)]);
        }
        pair.client.sender.release_idle();
        pair.client.receiver.release_idle();
        pair.server.sender.release_idle();
        pair.server.receiver.release_idle();
    }
}

#[test]
fn what_would_not_get_smaller_is_sent_as_it_is() {
    let mut pair = Pair::new(Some(agreement(&settings())));
    let noise = Message::from(noise(1).take(5_000).collect::<Vec<_>>());
    let prose = prose_of(5_000, 1);
    for message in [&prose, &noise, &prose, &prose, &noise, &noise, &prose] {
        let is_compressed = message.is_text();
        let frame = pair.server.frame(message, &mut pair.codec);
        assert_eq!(frame[0] & 0x40 != 0, is_compressed);
        assert_eq!(pair.client.receive(&frame, &mut pair.codec), [Event::Message(message.clone())]);
    }
}

#[test]
fn small_messages_are_not_compressed() {
    let mut pair = Pair::new(Some(agreement(&DeflateSettings { min_bytes: 100, ..settings() })));
    for (length, first_byte) in [(99, 0x81), (100, 0xc1)] {
        let frame = pair.server.frame(&"a".repeat(length).into(), &mut pair.codec);
        assert_eq!(frame[0], first_byte);
    }
}

#[test]
fn compressed_messages_in_fragments() {
    for agreement in [agreement(&settings()), agreement(&DeflateSettings::default())] {
        let (mut pair, mut codec) = (Pair::new(Some(agreement)), Codec::new());
        for seed in 0..4 {
            let message = prose_of(10_000, seed);
            let frame = pair.server.frame(&message, &mut pair.codec);
            let payload = &frame[4..];
            let mut pieces = payload.chunks(256);
            let mut bytes = text(pieces.next().unwrap()).reserved(4).more().bytes(Role::Server);
            pieces.for_each(|piece| bytes.extend(continuation(piece).more().bytes(Role::Server)));
            bytes.extend(continuation("").bytes(Role::Server));
            assert_eq!(pair.server.receive(&bytes, &mut codec), [Event::Message(message)]);
        }
    }
}
