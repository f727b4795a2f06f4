//! What is inflated is what another inflater makes of it, is bounded, and doesn't depend on how it is cut.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush};
use tayet_fuzz::{Agreement, outcome, pieces};
use tayet_websocket::{Event, Role};

const MAX_MESSAGE_BYTES: usize = 100_000;

#[derive(Arbitrary, Debug)]
struct Case {
    agreement: Agreement,
    is_text: bool,
    pieces: Vec<u8>,
    payloads: Vec<Vec<u8>>,
}

fuzz_target!(|case: Case| {
    let deflate = Some(case.agreement.negotiate());
    let first_byte = if case.is_text { 0xc1 } else { 0xc2 };
    let bytes: Vec<u8> = case.payloads.iter().flat_map(|payload| frame(first_byte, payload)).collect();
    let role = Role::Client(|| [0; 4]);
    let whole = outcome([&bytes[..]].into_iter(), role, deflate, MAX_MESSAGE_BYTES);
    assert_eq!(outcome(pieces(&bytes, &case.pieces), role, deflate, MAX_MESSAGE_BYTES), whole);
    assert_eq!(outcome(bytes.chunks(1), role, deflate, MAX_MESSAGE_BYTES), whole);
    if let (Some(Event::Message(message)), Some(payload)) = (whole.events.first(), case.payloads.first()) {
        compare_with_another_inflater(payload, message.as_bytes());
    }
});

/// A frame as a server sends it.
fn frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first_byte];
    match payload.len() {
        length @ ..126 => frame.push(length as u8),
        length => {
            frame.push(126);
            frame.extend((length.min(0xffff) as u16).to_be_bytes());
        }
    }
    frame.extend(&payload[..payload.len().min(0xffff)]);
    frame
}

fn compare_with_another_inflater(payload: &[u8], message: &[u8]) {
    if payload.is_empty() {
        assert!(message.is_empty());
        return;
    }
    let payload = [&payload[..payload.len().min(0xffff)], &[0x00, 0x00, 0xff, 0xff]].concat();
    let mut inflated = vec![0; MAX_MESSAGE_BYTES + 1];
    let mut state = InflateState::new_boxed(DataFormat::Raw);
    let result = inflate(&mut state, &payload, &mut inflated, MZFlush::None);
    let inflated = &inflated[..result.bytes_written];
    // That one stops behind a block with BFINAL.
    if result.status == Ok(miniz_oxide::MZStatus::StreamEnd) {
        assert!(message.starts_with(inflated));
    } else {
        assert_eq!(message, inflated);
    }
}
