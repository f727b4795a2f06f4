//! What connections cost in memory.

use allocation_counter::{AllocationInfo, measure};
use tayet_websocket::{
    Codec, DeflateSettings, MAX_IDLE_COMPRESSED_BYTES, MAX_IDLE_COMPRESSORS, MAX_IDLE_INFLATERS, Message,
    Receiver, Role, Sender,
};

use crate::pair::{Pair, negotiate};
use crate::support::{continuation, ping, text};

const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// What an allocation of a small fixed size may be, for instance for what is partial.
const SMALL_BYTES: u64 = 1_024;

/// What a codec's documentation says of each.
const INFLATER_BYTES: i64 = 48 * 1024;
const COMPRESSOR_BYTES: i64 = 400 * 1024;
const SCRATCH_BYTES: i64 = 16 * 1024;

/// Lets a receiver take `input`, and drops what comes of it.
fn receive(receiver: &mut Receiver, input: &[u8], codec: &mut Codec) -> AllocationInfo {
    let mut input = input;
    measure(|| while let Ok(Some(_)) = receiver.receive(&mut input, MAX_MESSAGE_BYTES, codec) {})
}

fn server() -> (Receiver, Codec) {
    let (mut receiver, mut codec) = (Receiver::new(Role::Server, None), Codec::new());
    // So that the codec has made its scratch space.
    let fragments = [text("a").more().bytes(Role::Server), continuation("b").bytes(Role::Server)].concat();
    receive(&mut receiver, &fragments, &mut codec);
    (receiver, codec)
}

#[test]
fn both_sides_are_small() {
    assert!(size_of::<Receiver>() <= 48, "{}", size_of::<Receiver>());
    assert!(size_of::<Sender>() <= 40, "{}", size_of::<Sender>());
    let info = measure(|| {
        let agreement = negotiate(&DeflateSettings::default(), &DeflateSettings::default());
        let before =
            measure(|| drop((Receiver::new(Role::Server, agreement), Sender::new(Role::Server, agreement))));
        assert_eq!(before.count_total, 0);
    });
    assert_eq!(info.bytes_current, 0);
}

#[test]
fn a_small_message_costs_one_allocation() {
    let (mut receiver, mut codec) = server();
    let message = text([b'*'; 64]).bytes(Role::Server);
    assert_eq!(receive(&mut receiver, &message, &mut codec).count_total, 1);
    assert_eq!(receive(&mut receiver, &message.repeat(10), &mut codec).count_total, 10);
    let mut out = Vec::with_capacity(100);
    let mut sender = Sender::new(Role::Server, None);
    let message = Message::from("*".repeat(64));
    assert_eq!(measure(|| assert!(sender.message(&message, &mut codec, &mut out).is_none())).count_total, 0);
}

#[test]
fn nothing_is_kept_between_messages() {
    let (mut receiver, mut codec) = server();
    for frames in [
        vec![text("whole"), ping("p")],
        vec![text("frag").more(), ping("p"), continuation("ment")],
        vec![text(vec![b'*'; 100_000])],
    ] {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(Role::Server)).collect();
        assert_eq!(receive(&mut receiver, &bytes, &mut codec).bytes_current, 0, "{frames:?}");
        let kept: i64 =
            bytes.chunks(7).map(|piece| receive(&mut receiver, piece, &mut codec).bytes_current).sum();
        assert_eq!(kept, 0, "{frames:?}");
    }
}

#[test]
fn a_length_that_is_claimed_costs_nothing_until_the_data_comes() {
    for frame in [text([b'*'; 100]), text([b'*'; 100]).more()] {
        let (mut receiver, mut codec) = server();
        let claim = frame.length_in_8_bytes(MAX_MESSAGE_BYTES as u64).bytes(Role::Server);
        let kept = receive(&mut receiver, &claim, &mut codec);
        assert!(kept.bytes_max <= SMALL_BYTES, "{kept:?}");
    }
}

#[test]
fn a_message_costs_at_most_twice_what_has_come_of_it() {
    let (mut receiver, mut codec) = server();
    let bytes = text(vec![b'*'; 300_000]).bytes(Role::Server);
    let mut kept = 0;
    for (at, piece) in bytes.chunks(1_000).enumerate() {
        kept += receive(&mut receiver, piece, &mut codec).bytes_current;
        let come = 1_000 * (at as i64 + 1);
        assert!(kept <= 2 * come + SMALL_BYTES as i64, "{kept} bytes for {come}");
    }
    assert_eq!(kept, 0);
}

#[test]
fn a_compression_bomb_costs_no_more_than_a_message_may() {
    let settings = DeflateSettings { min_bytes: 1, ..DeflateSettings::default() };
    let mut pair = Pair::new(negotiate(&settings, &settings));
    pair.up(&"to make an inflater and scratch space ".repeat(10).as_str().into());
    let bomb = pair.client.frame(&vec![0; 64 << 20].into(), &mut pair.codec);
    let info = receive(&mut pair.server.receiver, &bomb, &mut pair.codec);
    // While it grows, what has come is there twice.
    assert!(info.bytes_max <= 2 * MAX_MESSAGE_BYTES as u64 + SMALL_BYTES, "{info:?}");
    // The inflater went with the connection.
    assert!(info.bytes_current <= 0, "{info:?}");
}

#[test]
fn an_idle_connection_keeps_a_window_only_where_the_client_takes_its_context_over() {
    for (client_no_context_takeover, client_max_window_bits, max_bytes) in
        [(true, 15, 0), (false, 15, 32_768), (false, 9, 512), (false, 8, 256)]
    {
        let settings = DeflateSettings {
            client_no_context_takeover,
            client_max_window_bits,
            min_bytes: 1,
            ..DeflateSettings::default()
        };
        let mut pair = Pair::new(negotiate(&settings, &settings));
        let message = Message::from((0..20_000).map(|n| format!("{n} ")).collect::<String>());
        // So that what all connections share is there.
        let mut other = Pair::new(negotiate(&settings, &settings));
        other.up(&message);
        let frame = pair.client.frame(&message, &mut pair.codec);
        let info = measure(|| {
            drop(pair.server.receive(&frame, &mut other.codec));
            pair.server.receiver.release_idle();
        });
        assert_eq!(info.bytes_current, max_bytes);
    }
}

#[test]
fn an_idle_sender_keeps_nothing() {
    for server_no_context_takeover in [false, true] {
        let settings = DeflateSettings { server_no_context_takeover, ..DeflateSettings::default() };
        let mut pair = Pair::new(negotiate(&settings, &settings));
        let message = Message::from("words ".repeat(1_000));
        let mut other = Pair::new(negotiate(&settings, &settings));
        other.down(&message);
        let info = measure(|| {
            drop(pair.server.frame(&message, &mut other.codec));
            pair.server.sender.release_idle();
        });
        assert_eq!(info.bytes_current, 0, "{server_no_context_takeover}");
    }
}

#[test]
fn a_codec_keeps_so_many_inflaters_and_no_more() {
    let settings = DeflateSettings { min_bytes: 1, ..DeflateSettings::default() };
    let mut client = Pair::new(negotiate(&settings, &settings));
    let frame = client.client.frame(&"words ".repeat(100).as_str().into(), &mut client.codec);
    let mut codec = Codec::new();
    let info = measure(|| {
        // Each has its inflater while its message has come in part.
        let mut pairs: Vec<_> = (0..2 * MAX_IDLE_INFLATERS).map(|_| Pair::new(client.agreement)).collect();
        for pair in &mut pairs {
            receive(&mut pair.server.receiver, &frame[..frame.len() - 1], &mut codec);
        }
        for pair in &mut pairs {
            receive(&mut pair.server.receiver, &frame[frame.len() - 1..], &mut codec);
        }
    });
    let max_bytes = MAX_IDLE_INFLATERS as i64 * INFLATER_BYTES + SCRATCH_BYTES;
    assert!(info.bytes_max as i64 > max_bytes, "{info:?}");
    assert!(info.bytes_current <= max_bytes, "{info:?}");
}

#[test]
fn a_codec_keeps_so_many_compressors_and_no_more_than_some_room() {
    let mut codec = Codec::new();
    let mix = |n: u64| (n ^ n >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise: Vec<u8> = (0..4 << 20).map(|n| (mix(mix(n)) >> 56) as u8).collect();
    let messages = [Message::from("words ".repeat(100_000)), Message::from(noise)];
    let info = measure(|| {
        for server_max_window_bits in 8..=15 {
            let settings = DeflateSettings { server_max_window_bits, ..DeflateSettings::default() };
            let mut pair = Pair::new(negotiate(&settings, &settings));
            for message in &messages {
                drop(pair.server.frame(message, &mut codec));
            }
        }
    });
    let max_bytes = MAX_IDLE_COMPRESSORS as i64 * COMPRESSOR_BYTES + MAX_IDLE_COMPRESSED_BYTES as i64;
    assert!(info.bytes_current <= max_bytes + SMALL_BYTES as i64, "{info:?}");
}
