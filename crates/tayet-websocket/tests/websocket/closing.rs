//! Close frames (RFC 6455 sections 5.5.1 and 7.4).

use tayet_websocket::{CloseCode, CloseFrame, MAX_CLOSE_REASON_BYTES, Role, Sender};

use crate::support::{CLIENT, Setting, check, close, frame, ping, text};

const CLOSE: u8 = 0x88;

#[test]
fn close_frames() {
    check(&[
        (&[frame(CLOSE, "")], "close"),
        (&[frame(CLOSE, [3])], "1002 HalfCloseCode"),
        (&[close(1000, "")], "close 1000 \"\""),
        (&[close(1000, "bye")], "close 1000 \"bye\""),
        (&[close(1000, "héllo €")], "close 1000 \"héllo €\""),
        (&[close(1000, [b'*'; 123])], "close 1000 of 123 bytes"),
        (&[close(1000, [b'*'; 124])], "1002 ControlFrameTooLong"),
    ]);
}

#[test]
fn nothing_behind_a_close_frame_is_looked_at() {
    check(&[
        (&[close(1000, ""), text("more")], "close 1000 \"\""),
        (&[close(1000, ""), ping("more")], "close 1000 \"\""),
        (&[close(1000, ""), close(1000, "")], "close 1000 \"\""),
        (&[frame(CLOSE, ""), frame(0xff, "nonsense")], "close"),
        (&[text("a"), close(1001, "away"), text("b")], "text \"a\" | close 1001 \"away\""),
    ]);
}

#[test]
fn close_codes() {
    let valid = |code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    for code in (0..=6_000).chain([9_999, 65_535]) {
        let expected =
            if valid(code) { format!("close {code} \"\"") } else { "1002 InvalidCloseCode".to_owned() };
        let bytes = close(code, "").bytes(Role::Server);
        assert_eq!(Setting::new(Role::Server).outcome([&bytes[..]]), expected);
        assert_eq!(CloseCode::new(code).map(CloseCode::get), valid(code).then_some(code));
    }
}

#[test]
fn each_named_code_may_be_sent() {
    for code in [
        CloseCode::NORMAL,
        CloseCode::GOING_AWAY,
        CloseCode::PROTOCOL_ERROR,
        CloseCode::UNSUPPORTED_DATA,
        CloseCode::INVALID_PAYLOAD,
        CloseCode::POLICY_VIOLATION,
        CloseCode::MESSAGE_TOO_BIG,
        CloseCode::MANDATORY_EXTENSION,
        CloseCode::INTERNAL_ERROR,
        CloseCode::SERVICE_RESTART,
        CloseCode::TRY_AGAIN_LATER,
        CloseCode::BAD_GATEWAY,
    ] {
        assert_eq!(CloseCode::new(code.get()), Some(code));
    }
}

#[test]
fn a_reason_that_is_too_long_is_cut_between_characters() {
    for (reason, kept) in [
        ("a".repeat(123), 123),
        ("a".repeat(124), 123),
        ("é".repeat(62), 122),
        ("€".repeat(100), 123),
        ("a".to_owned() + &"😀".repeat(31), 121),
        (String::new(), 0),
    ] {
        let frame = CloseFrame::new(CloseCode::NORMAL, reason.as_str());
        assert_eq!(frame.reason().len(), kept);
        assert!(kept <= MAX_CLOSE_REASON_BYTES && reason.starts_with(frame.reason().as_str()));
    }
}

#[test]
fn a_close_frame_that_is_sent_is_received() {
    for (frame, expected) in [
        (None, "close"),
        (Some(CloseFrame::from(CloseCode::GOING_AWAY)), "close 1001 \"\""),
        (Some(CloseFrame::new(CloseCode::NORMAL, "bye €")), "close 1000 \"bye €\""),
    ] {
        for (from, to) in [(Role::Server, CLIENT), (CLIENT, Role::Server)] {
            let mut bytes = Vec::new();
            Sender::new(from, None).close(frame.as_ref(), &mut bytes);
            assert_eq!(Setting::new(to).outcome_however_cut(&bytes), expected);
        }
    }
}
