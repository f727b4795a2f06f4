//! How large messages may be, and that size makes no other difference (RFC 6455 section 10.4).

use tayet_websocket::{Codec, Event, Receiver, Role};

use crate::support::{CLIENT, Frame, Setting, binary, continuation, ping, text};

fn check(max_message_bytes: usize, table: &[(&[Frame], &str)]) {
    for (frames, expected) in table {
        for role in [Role::Server, CLIENT] {
            let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes(role)).collect();
            let setting = Setting { max_message_bytes, ..Setting::new(role) };
            assert_eq!(setting.outcome_however_cut(&bytes), *expected, "{frames:?}");
        }
    }
}

#[test]
fn a_message_may_have_just_as_many_bytes_as_are_allowed() {
    let more = || text([b'*'; 50]).more();
    check(
        100,
        &[
            (&[text([b'*'; 100])], "text of 100 bytes"),
            (&[text([b'*'; 101])], "1009 MessageTooBig"),
            (&[binary([0; 101])], "1009 MessageTooBig"),
            (&[more(), continuation([b'*'; 50])], "text of 100 bytes"),
            (&[more(), continuation([b'*'; 51])], "1009 MessageTooBig"),
            (&[more(), continuation([b'*'; 50]).more(), continuation("")], "text of 100 bytes"),
            (&[more(), continuation([b'*'; 50]).more(), continuation("*")], "1009 MessageTooBig"),
            // It counts anew for each message, and control frames don't count.
            (&[text([b'*'; 100]), text([b'*'; 100])], "text of 100 bytes | text of 100 bytes"),
            (&[ping([b'*'; 125])], "ping of 125 bytes"),
            (&[more(), ping([b'*'; 125]), continuation([b'*'; 50])], "ping of 125 bytes | text of 100 bytes"),
        ],
    );
    check(
        0,
        &[(&[text("")], "text \"\""), (&[text("*")], "1009 MessageTooBig"), (&[ping("p")], "ping \"p\"")],
    );
}

#[test]
fn a_length_that_is_too_big_fails_before_any_payload() {
    let expected = "1009 MessageTooBig";
    check(
        100,
        &[
            (&[text("").length_in_2_bytes(126)], expected),
            (&[text("").more().length_in_2_bytes(126)], expected),
            (&[text("").length_in_8_bytes(1 << 40)], expected),
            (&[text([b'*'; 90]).more(), continuation("").length_in_2_bytes(126)], expected),
        ],
    );
}

#[test]
fn a_limit_that_is_lowered_within_a_message_counts() {
    let (mut receiver, mut codec) = (Receiver::new(Role::Server, None), Codec::new());
    let mut receive = |frame: Frame, max_message_bytes| {
        receiver.receive(&mut &frame.bytes(Role::Server)[..], max_message_bytes, &mut codec)
    };
    assert_eq!(receive(text([b'*'; 80]).more(), 100), Ok(None));
    assert!(receive(continuation(""), 50).is_ok_and(|event| matches!(event, Some(Event::Message(_)))));
    assert_eq!(receive(text([b'*'; 80]).more(), 100), Ok(None));
    assert!(receive(continuation("*"), 50).is_err());
}

#[test]
fn large_messages_whole_and_in_fragments_of_each_size() {
    const LARGE_BYTES: usize = 4 << 20;
    for length in [64 << 10, 256 << 10, 1 << 20, LARGE_BYTES] {
        let payload = vec![b'*'; length];
        let expected = format!("text of {length} bytes");
        let setting = Setting { max_message_bytes: LARGE_BYTES, ..Setting::new(Role::Server) };
        let bytes = text(&payload).bytes(Role::Server);
        for piece_bytes in [512, 1_400, 4_096, 65_536, LARGE_BYTES * 2] {
            assert_eq!(setting.outcome(bytes.chunks(piece_bytes)), expected);
        }
        for fragment_bytes in [64, 256, 1_024, 4_096, 65_536, 1 << 20] {
            let mut bytes = text("").more().bytes(Role::Server);
            for fragment in payload.chunks(fragment_bytes) {
                bytes.extend(continuation(fragment).more().bytes(Role::Server));
            }
            bytes.extend(continuation("").bytes(Role::Server));
            assert_eq!(setting.outcome(bytes.chunks(65_536)), expected);
        }
    }
}
