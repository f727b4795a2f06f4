//! Whatever bytes come, it makes no difference how they are cut, nor whether a head is used again.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tayet_fuzz::{Http1Bytes, pieces};
use tayet_http1::{BodyEvent, Connection, Head, HeadLimits, Refusal};

#[derive(Arbitrary, Debug)]
struct Case {
    limits: Limits,
    /// The lengths of the first pieces; the rest is one more.
    pieces: Vec<u8>,
    bytes: Http1Bytes,
}

/// Small, so that they matter.
#[derive(Arbitrary, Debug)]
struct Limits {
    max_head_bytes: u8,
    max_request_line_bytes: u8,
    max_headers: u8,
}

#[derive(Debug, PartialEq)]
enum Event {
    Head(String),
    Data(Vec<u8>),
    End(Option<Box<http::HeaderMap>>),
    Refused(Refusal),
    Partial { head: bool, body: bool },
}

fuzz_target!(|case: Case| {
    let limits = HeadLimits {
        max_head_bytes: 2 * usize::from(case.limits.max_head_bytes),
        max_request_line_bytes: usize::from(case.limits.max_request_line_bytes),
        max_headers: usize::from(case.limits.max_headers) / 8,
    };
    let bytes = &case.bytes.0[..];
    let whole = events([bytes].into_iter(), &limits);
    assert_eq!(events(pieces(bytes, &case.pieces), &limits), whole);
    assert_eq!(events(bytes.chunks(1), &limits), whole);
});

fn events<'a>(pieces: impl Iterator<Item = &'a [u8]>, limits: &HeadLimits) -> Vec<Event> {
    let (mut connection, mut head, mut events) = (Connection::new(), Head::default(), Vec::new());
    for piece in pieces {
        let mut input = piece;
        loop {
            match next(&mut connection, &mut input, &mut head, limits) {
                Ok(Some(event)) => add(&mut events, event),
                Ok(None) => {
                    assert!(input.is_empty(), "more is wanted, but not all was taken");
                    break;
                }
                Err(refusal) => {
                    events.push(Event::Refused(refusal));
                    return events;
                }
            }
        }
    }
    events.push(Event::Partial { head: connection.has_partial_head(), body: connection.is_receiving_body() });
    events
}

fn next(
    connection: &mut Connection,
    input: &mut &[u8],
    head: &mut Head,
    limits: &HeadLimits,
) -> Result<Option<Event>, Refusal> {
    if !connection.is_receiving_body() {
        let is_complete = connection.receive_head(input, head, limits)?;
        return Ok(
            is_complete.then(|| Event::Head(format!("{head:?} {:?}", head.fields().collect::<Vec<_>>())))
        );
    }
    Ok(connection.receive_body(input)?.map(|event| match event {
        BodyEvent::Data(data) => Event::Data(data.to_vec()),
        BodyEvent::End { trailers } => Event::End(trailers),
    }))
}

/// Data that comes in pieces counts as one.
fn add(events: &mut Vec<Event>, event: Event) {
    match (events.last_mut(), event) {
        (Some(Event::Data(before)), Event::Data(data)) => before.extend(data),
        (_, event) => events.push(event),
    }
}
