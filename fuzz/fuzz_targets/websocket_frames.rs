//! Whatever frames come, it makes no difference how they are cut.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tayet_fuzz::{Agreement, Frame, outcome, pieces};
use tayet_websocket::Role;

#[derive(Arbitrary, Debug)]
struct Case {
    is_server: bool,
    deflate: Option<Agreement>,
    /// Small, so that it matters.
    max_message_bytes: u8,
    /// The lengths of the first pieces; the rest is one more.
    pieces: Vec<u8>,
    frames: Vec<Frame>,
    /// What follows that is no frame.
    rest: Vec<u8>,
}

fuzz_target!(|case: Case| {
    let role = if case.is_server { Role::Server } else { Role::Client(|| [0; 4]) };
    let deflate = case.deflate.as_ref().map(Agreement::negotiate);
    let max_message_bytes = usize::from(case.max_message_bytes);
    let mut bytes: Vec<u8> = case.frames.iter().flat_map(|frame| frame.bytes(case.is_server)).collect();
    bytes.extend(&case.rest);
    let whole = outcome([&bytes[..]].into_iter(), role, deflate, max_message_bytes);
    assert_eq!(outcome(pieces(&bytes, &case.pieces), role, deflate, max_message_bytes), whole);
    assert_eq!(outcome(bytes.chunks(1), role, deflate, max_message_bytes), whole);
});
