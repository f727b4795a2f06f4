//! Frames (RFC 6455 section 5): lengths, control frames, reserved bits and opcodes, masks, fragments.

use tayet_websocket::Role;

use crate::support::{Setting, binary, check, close, continuation, frame, ping, pong, text};

#[test]
fn messages_of_all_lengths_of_length() {
    let long = |length| vec![b'*'; length];
    check(&[
        (&[], ""),
        (&[text("")], "text \"\""),
        (&[binary("")], "binary \"\""),
        (&[text("Hello")], "text \"Hello\""),
        (&[binary(b"\x00\xff")], "binary \"\\\\x00\\\\xff\""),
        (&[text(long(125))], "text of 125 bytes"),
        (&[text(long(126))], "text of 126 bytes"),
        (&[text(long(127))], "text of 127 bytes"),
        (&[text(long(128))], "text of 128 bytes"),
        (&[text(long(65_535))], "text of 65535 bytes"),
        (&[text(long(65_536))], "text of 65536 bytes"),
        (&[binary(long(125))], "binary of 125 bytes"),
        (&[binary(long(126))], "binary of 126 bytes"),
        (&[binary(long(127))], "binary of 127 bytes"),
        (&[binary(long(128))], "binary of 128 bytes"),
        (&[binary(long(65_535))], "binary of 65535 bytes"),
        (&[binary(long(65_536))], "binary of 65536 bytes"),
        (&[text("a"), binary("b"), text("c")], "text \"a\" | binary \"b\" | text \"c\""),
    ]);
}

#[test]
fn lengths_in_more_bytes_than_they_need_are_refused() {
    check(&[
        (&[text("a").length_in_2_bytes(1)], "1002 LengthNotMinimal"),
        (&[text([b'*'; 125]).length_in_2_bytes(125)], "1002 LengthNotMinimal"),
        (&[text("a").length_in_8_bytes(1)], "1002 LengthNotMinimal"),
        (&[text("").length_in_8_bytes(0)], "1002 LengthNotMinimal"),
        (&[text("a").length_in_8_bytes(65_535)], "1002 LengthNotMinimal"),
        (&[text("a").length_in_8_bytes(1 << 63)], "1002 LengthTooLarge"),
        (&[binary("a").length_in_8_bytes(u64::MAX)], "1002 LengthTooLarge"),
        (&[binary("a").length_in_8_bytes((1 << 63) - 1)], "1009 MessageTooBig"),
        (&[binary("a").length_in_8_bytes(1 << 32)], "1009 MessageTooBig"),
        (&[binary("a").length_in_8_bytes((1 << 32) + 1)], "1009 MessageTooBig"),
    ]);
}

#[test]
fn pings_and_pongs() {
    check(&[
        (&[ping("")], "ping \"\""),
        (&[ping("Hello")], "ping \"Hello\""),
        (
            &[ping(b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff")],
            "ping \"\\\\x00\\\\xff\\\\xfe\\\\xfd\\\\xfc\\\\xfb\\\\x00\\\\xff\"",
        ),
        (&[ping([b'*'; 125])], "ping of 125 bytes"),
        (&[ping([b'*'; 126])], "1002 ControlFrameTooLong"),
        (&[ping([b'*'; 70_000])], "1002 ControlFrameTooLong"),
        (&[pong("")], "pong \"\""),
        (&[pong("unsolicited"), ping("a")], "pong \"unsolicited\" | ping \"a\""),
        (&[pong([b'*'; 126])], "1002 ControlFrameTooLong"),
        (&[ping("1"), ping("2"), ping("3")], "ping \"1\" | ping \"2\" | ping \"3\""),
        (&[ping("1").more(), continuation("2")], "1002 FragmentedControlFrame"),
        (&[pong("1").more(), continuation("2")], "1002 FragmentedControlFrame"),
        (&[close(1000, "").more()], "1002 FragmentedControlFrame"),
    ]);
}

#[test]
fn reserved_bits() {
    for bits in 1..=7 {
        check(&[
            (&[text("a").reserved(bits)], "1002 ReservedBit"),
            (&[text("a"), binary("b").reserved(bits), ping("")], "text \"a\" | 1002 ReservedBit"),
            (&[ping("a").reserved(bits)], "1002 ReservedBit"),
            (&[pong("a").reserved(bits)], "1002 ReservedBit"),
            (&[close(1000, "").reserved(bits)], "1002 ReservedBit"),
            (&[text("a").more(), continuation("b").reserved(bits)], "1002 ReservedBit"),
        ]);
    }
}

#[test]
fn reserved_opcodes() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        check(&[
            (&[frame(0x80 | opcode, "")], "1002 UnknownOpcode"),
            (&[frame(opcode, "")], "1002 UnknownOpcode"),
            (&[frame(0x80 | opcode, "payload")], "1002 UnknownOpcode"),
            (&[text("a"), frame(0x80 | opcode, "b"), ping("")], "text \"a\" | 1002 UnknownOpcode"),
            (&[text("a").more(), frame(0x80 | opcode, "b")], "1002 UnknownOpcode"),
        ]);
    }
}

#[test]
fn masks() {
    for (role, failure) in [(Role::Server, "1002 NotMasked"), (crate::support::CLIENT, "1002 Masked")] {
        for frame in [text(""), text("a"), binary("a"), ping(""), close(1000, "")] {
            let bytes = frame.wrongly_masked().bytes(role);
            assert_eq!(Setting::new(role).outcome_however_cut(&bytes), failure);
        }
    }
}

#[test]
fn fragments() {
    let (one, two, three) = (text("one").more(), continuation("two").more(), continuation("three"));
    check(&[
        (&[text("frag").more(), continuation("ment")], "text \"fragment\""),
        (&[binary("frag").more(), continuation("ment")], "binary \"fragment\""),
        (&[one.clone(), two.clone(), three.clone()], "text \"onetwothree\""),
        (&[text("").more(), continuation("").more(), continuation("")], "text \"\""),
        (&[text("").more(), continuation("middle").more(), continuation("")], "text \"middle\""),
        (&[binary("").more(), continuation("").more(), continuation("")], "binary \"\""),
        (std::slice::from_ref(&one), "partial"),
        (&[one.clone(), two.clone()], "partial"),
        (&[one.clone(), two.clone(), three.clone(), text("next")], "text \"onetwothree\" | text \"next\""),
        (
            &[text("a").more(), continuation("b"), text("c").more(), continuation("d")],
            "text \"ab\" | text \"cd\"",
        ),
        (&[continuation("nothing")], "1002 UnexpectedContinuation"),
        (&[continuation("nothing").more()], "1002 UnexpectedContinuation"),
        (&[text("a"), continuation("b")], "text \"a\" | 1002 UnexpectedContinuation"),
        (&[one.clone(), three.clone(), three.clone()], "text \"onethree\" | 1002 UnexpectedContinuation"),
        (&[one.clone(), text("again")], "1002 InterruptedMessage"),
        (&[one.clone(), text("again").more()], "1002 InterruptedMessage"),
        (&[one.clone(), binary("again")], "1002 InterruptedMessage"),
        (&[binary("a").more(), text("again")], "1002 InterruptedMessage"),
        (&[one.clone(), ping(""), two, text("again")], "ping \"\" | 1002 InterruptedMessage"),
    ]);
}

#[test]
fn control_frames_between_fragments() {
    let (one, two, three) = (text("one").more(), continuation("two").more(), continuation("three"));
    check(&[
        (&[one.clone(), ping("p"), three.clone()], "ping \"p\" | text \"onethree\""),
        (&[one.clone(), pong("p"), three.clone()], "pong \"p\" | text \"onethree\""),
        (
            &[one.clone(), ping("p"), two.clone(), ping("q"), pong(""), three.clone()],
            "ping \"p\" | ping \"q\" | pong \"\" | text \"onetwothree\"",
        ),
        (&[one.clone(), ping([b'*'; 125]), three.clone()], "ping of 125 bytes | text \"onethree\""),
        (&[one.clone(), ping([b'*'; 126]), three.clone()], "1002 ControlFrameTooLong"),
        (&[one.clone(), close(1000, "enough"), three], "close 1000 \"enough\""),
        (&[one, ping("p")], "ping \"p\" | partial"),
        (&[text("Hello \u{20ac}").more(), ping("€"), continuation("€")], "ping \"€\" | text \"Hello €€\""),
    ]);
}

#[test]
fn a_message_in_many_fragments() {
    let mut frames = vec![binary([0; 10]).more()];
    frames.extend(std::iter::repeat_n(continuation([0; 10]).more(), 1_000));
    frames.push(continuation([0; 10]));
    check(&[(&frames, "binary of 10020 bytes")]);
}

#[test]
fn a_header_that_is_not_complete_is_partial() {
    let bytes = binary(vec![0; 70_000]).bytes(Role::Server);
    for length in 1..14 {
        assert_eq!(Setting::new(Role::Server).outcome_however_cut(&bytes[..length]), "partial");
    }
}
