//! Texts are UTF-8 (RFC 6455 section 8.1), and what isn't fails as early as a byte can tell.

use tayet_websocket::{Codec, Failure, Receiver, Role};

use crate::support::{CLIENT, check, close, continuation, ping, text};

/// Texts with the characters at the edges of each length, and harmless oddities.
const VALID: &[&str] = &[
    "",
    "κόσμε",
    "Hello-µ@ßöäüàá-UTF-8!!",
    "\0",
    "\u{7f}",
    "\u{80}",
    "\u{7ff}",
    "\u{800}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{fffd}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10000}",
    "\u{1fffe}",
    "\u{10ffff}",
    "\u{feff}with a mark",
    "a\u{300}\u{301}\u{302}",
    "𐍈 and 😀 and 漢字",
];

/// What isn't UTF-8, and after how many bytes that is certain.
const INVALID: &[(&[u8], usize)] = &[
    (b"\x80", 1),
    (b"\xbf", 1),
    (b"\x80\xbf\x80\xbf", 1),
    (b"a\xc0", 2),
    (b"\xc0\x80", 1),
    (b"\xc1\xbf", 1),
    (b"\xc3 ", 2),
    (b"\xc3\xc3\xa9", 2),
    (b"\xe0\x80\x80", 2),
    (b"\xe0\x9f\xbf", 2),
    (b"\xe2\x82 ", 3),
    (b"\xe2\x28\xa1", 2),
    (b"\xed\xa0\x80", 2),
    (b"\xed\xbf\xbf", 2),
    (b"\xed\xa0\xbd\xed\xb8\x80", 2),
    (b"\xf0\x80\x80\x80", 2),
    (b"\xf0\x8f\xbf\xbf", 2),
    (b"\xf0\x90\x28\xbc", 3),
    (b"\xf0\x9f\x98 ", 4),
    (b"\xf4\x90\x80\x80", 2),
    (b"\xf5", 1),
    (b"\xf8\x88\x80\x80\x80", 1),
    (b"\xfc\x84\x80\x80\x80\x80", 1),
    (b"\xfe", 1),
    (b"\xff", 1),
    (b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited", 13),
    (b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80edited", 13),
];

/// Characters that break off.
const INCOMPLETE: &[&[u8]] = &[
    b"\xc3",
    b"\xe2",
    b"\xe2\x82",
    b"\xed\x9f",
    b"\xf0",
    b"\xf0\x9f",
    b"\xf0\x9f\x98",
    b"\xf4\x8f\xbf",
    b"a\xce",
    b"\xce\xba\xe1\xbd",
];

#[test]
fn valid_texts_in_one_frame_and_in_fragments_of_one_byte() {
    for valid in VALID {
        let expected = format!("text {valid:?}");
        check(&[(&[text(valid)], &expected)]);
        let mut frames = vec![text("").more()];
        frames.extend(valid.bytes().map(|byte| continuation([byte]).more()));
        frames.push(continuation(""));
        check(&[(&frames, &expected)]);
    }
}

#[test]
fn invalid_texts() {
    for (invalid, certain) in INVALID {
        let (first, second) = invalid.split_at(invalid.len() / 2);
        check(&[
            (&[text(invalid)], "1007 InvalidUtf8"),
            (&[text("before"), text(invalid)], "text \"before\" | 1007 InvalidUtf8"),
            (&[text(first).more(), continuation(second)], "1007 InvalidUtf8"),
            (&[close(1000, invalid)], "1007 InvalidUtf8"),
        ]);
        // It is certain before the message has ended, and so a ping behind it isn't seen any more.
        check(&[(&[text(&invalid[..*certain]).more(), ping("")], "1007 InvalidUtf8")]);
        check(&[(&[text(&invalid[..certain - 1]).more(), ping("")], "ping \"\" | partial")]);
    }
}

#[test]
fn incomplete_texts() {
    for incomplete in INCOMPLETE {
        check(&[
            (&[text(incomplete)], "1007 InvalidUtf8"),
            (&[text(incomplete).more(), ping("")], "ping \"\" | partial"),
            (&[text(incomplete).more(), continuation("")], "1007 InvalidUtf8"),
            (&[text(incomplete).more(), continuation("a")], "1007 InvalidUtf8"),
            (&[close(1000, incomplete)], "1007 InvalidUtf8"),
        ]);
    }
}

#[test]
fn an_invalid_byte_fails_before_its_frame_is_complete() {
    for (invalid, certain) in INVALID {
        for role in [Role::Server, CLIENT] {
            let bytes = text([invalid, &[b'*'; 200][..]].concat()).bytes(role);
            let header_bytes = bytes.len() - invalid.len() - 200;
            let (mut receiver, mut codec) = (Receiver::new(role, None), Codec::new());
            let mut receive = |mut input: &[u8]| receiver.receive(&mut input, 1_000, &mut codec);
            assert_eq!(receive(&bytes[..header_bytes + certain - 1]), Ok(None), "{invalid:x?}");
            assert_eq!(
                receive(&bytes[header_bytes + certain - 1..header_bytes + certain]),
                Err(Failure::InvalidUtf8),
                "{invalid:x?}"
            );
        }
    }
}

#[test]
fn long_texts_of_characters_of_every_length_wherever_blocks_end() {
    for character in ["a", "é", "€", "😀"] {
        for offset in 0..4 {
            let long = "x".repeat(offset) + &character.repeat(20_000 / character.len());
            let expected = format!("text of {} bytes", long.len());
            check(&[(&[text(&long)], &expected), (&[text("").more(), continuation(&long)], &expected)]);
            let broken = [long.as_bytes(), b"\xe2\x82", long.as_bytes()].concat();
            check(&[(&[text(broken)], "1007 InvalidUtf8")]);
        }
    }
}
