//! Each limit, at its edge.

use tayet_http1::{
    HeadLimits, MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS, MAX_HEAD_BYTES_CEILING,
    MAX_HEADERS_CEILING, MAX_LEADING_EMPTY_LINES, MAX_TRAILER_BYTES, MAX_TRAILERS, Refusal,
};

use crate::support::{Receiver, outcome, outcome_however_cut};

const SMALL: HeadLimits = HeadLimits { max_head_bytes: 100, max_request_line_bytes: 40, max_headers: 3 };

/// A message whose request line is so long.
fn with_request_line(length: usize) -> Vec<u8> {
    let path = "x".repeat(length - "GET / HTTP/1.1".len());
    format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes()
}

/// A message whose head is so long.
fn with_head(length: usize) -> Vec<u8> {
    let value = "x".repeat(length - "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len());
    format!("GET / HTTP/1.1\r\nHost: a\r\nX: {value}\r\n\r\n").into_bytes()
}

fn with_headers(count: usize) -> Vec<u8> {
    let fields = "X: y\r\n".repeat(count - 1);
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let defaults = HeadLimits { max_head_bytes: 16_384, max_request_line_bytes: 8_192, max_headers: 100 };
    assert_eq!(HeadLimits::default(), defaults);
    assert_eq!((MAX_HEAD_BYTES_CEILING, MAX_HEADERS_CEILING), (1_073_741_824, 16_384));
    assert_eq!((MAX_LEADING_EMPTY_LINES, MAX_CHUNK_SIZE_DIGITS, MAX_CHUNK_EXTENSION_BYTES), (4, 16, 16_384));
    assert_eq!((MAX_TRAILER_BYTES, MAX_TRAILERS), (8_192, 32));
}

#[test]
fn a_request_line_may_have_its_limit_and_no_byte_more() {
    assert!(outcome_however_cut(&with_request_line(40), &SMALL).starts_with("GET /"));
    assert_eq!(outcome_however_cut(&with_request_line(41), &SMALL), "414 RequestLineTooLong");
    assert_eq!(outcome_however_cut(&with_request_line(200), &SMALL), "414 RequestLineTooLong");
    let defaults = HeadLimits::default();
    assert!(outcome([&with_request_line(8192)[..]], &defaults).starts_with("GET /"));
    assert_eq!(outcome([&with_request_line(8193)[..]], &defaults), "414 RequestLineTooLong");
}

#[test]
fn a_request_line_without_an_end_is_refused_at_the_limit() {
    assert_eq!(outcome_however_cut(&[b'x'; 41], &SMALL), "partial head");
    assert_eq!(outcome_however_cut(&[b'x'; 42], &SMALL), "414 RequestLineTooLong");
    assert_eq!(outcome_however_cut(&[0xff; 42], &SMALL), "414 RequestLineTooLong");
    assert_eq!(outcome_however_cut(&[&[b'x'; 42][..], b"\0"].concat(), &SMALL), "414 RequestLineTooLong");
    assert_eq!(outcome_however_cut(&[&[b'x'; 41][..], b"\0"].concat(), &SMALL), "400 ControlByte");
}

#[test]
fn a_head_limit_below_the_request_line_still_says_414() {
    let limits = HeadLimits { max_head_bytes: 20, ..SMALL };
    assert_eq!(outcome_however_cut(&with_request_line(30), &limits), "414 RequestLineTooLong");
}

#[test]
fn a_head_may_have_its_limit_and_no_byte_more() {
    assert_eq!(outcome_however_cut(&with_head(100), &SMALL), "GET / @a 1.1 keep");
    assert_eq!(outcome_however_cut(&with_head(101), &SMALL), "431 HeadTooLarge");
    assert_eq!(outcome_however_cut(&with_head(300), &SMALL), "431 HeadTooLarge");
    let defaults = HeadLimits::default();
    assert_eq!(outcome([&with_head(16_384)[..]], &defaults), "GET / @a 1.1 keep");
    assert_eq!(outcome([&with_head(16_385)[..]], &defaults), "431 HeadTooLarge");
    assert_eq!(outcome(with_head(16_384).chunks(1), &defaults), "GET / @a 1.1 keep");
    assert_eq!(outcome(with_head(16_385).chunks(1), &defaults), "431 HeadTooLarge");
}

#[test]
fn a_field_without_an_end_is_refused_at_the_limit() {
    for filler in [b'x', b':', b' ', b'\t', 0xff] {
        let mut message = b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec();
        message.resize(99, filler);
        assert_eq!(outcome_however_cut(&message, &SMALL), "partial head");
        message.push(filler);
        assert_eq!(outcome_however_cut(&message, &SMALL), "431 HeadTooLarge");
    }
}

#[test]
fn empty_lines_before_a_head_do_not_count_for_it() {
    let message = [b"\r\n\r\n", &with_head(100)[..]].concat();
    assert_eq!(outcome_however_cut(&message, &SMALL), "GET / @a 1.1 keep");
}

#[test]
fn a_head_may_have_as_many_headers_as_the_limit_says() {
    assert_eq!(outcome_however_cut(&with_headers(3), &SMALL), "GET / @a 1.1 keep");
    assert_eq!(outcome_however_cut(&with_headers(4), &SMALL), "431 TooManyHeaders");
    let defaults = HeadLimits::default();
    assert_eq!(outcome([&with_headers(100)[..]], &defaults), "GET / @a 1.1 keep");
    assert_eq!(outcome([&with_headers(101)[..]], &defaults), "431 TooManyHeaders");
}

#[test]
fn no_limit_lets_in_more_headers_than_a_map_can_hold() {
    let limits = HeadLimits { max_head_bytes: usize::MAX, max_headers: usize::MAX, ..HeadLimits::default() };
    let different = |count: usize| {
        let fields: String = (1..count).map(|number| format!("x-{number}: y\r\n")).collect();
        format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
    };
    let mut head = tayet_http1::Head::default();
    let mut receive = |count| {
        let message = different(count);
        let received = tayet_http1::Connection::new().receive_head(&mut &message[..], &mut head, &limits);
        received.map(|_| head.header_map().len())
    };
    assert_eq!(receive(MAX_HEADERS_CEILING), Ok(MAX_HEADERS_CEILING));
    assert_eq!(receive(MAX_HEADERS_CEILING + 1), Err(Refusal::TooManyHeaders));
}

#[test]
fn a_field_name_may_be_as_long_as_a_header_name_can() {
    let limits = HeadLimits { max_head_bytes: 200_000, ..HeadLimits::default() };
    let with_name = |length| {
        let name = "x".repeat(length);
        let message = format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: b\r\n\r\n");
        let mut head = tayet_http1::Head::default();
        let received =
            tayet_http1::Connection::new().receive_head(&mut message.as_bytes(), &mut head, &limits);
        received.map(|_| head.header_map().len())
    };
    assert_eq!(with_name(65_535), Ok(2));
    assert_eq!(with_name(65_536), Err(Refusal::MalformedFieldName));
}

#[test]
fn limits_that_shrink_within_a_head_refuse_it() {
    let mut connection = tayet_http1::Connection::new();
    let mut head = tayet_http1::Head::default();
    let mut first = &b"GET / HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyyyyyyyyyy"[..];
    assert_eq!(connection.receive_head(&mut first, &mut head, &SMALL), Ok(false));
    let smaller = HeadLimits { max_head_bytes: 20, ..SMALL };
    let refused = connection.receive_head(&mut &b"\r\n\r\n"[..], &mut head, &smaller);
    assert_eq!(refused, Err(Refusal::HeadTooLarge));
}

const CHUNKED: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// What comes of a chunked body, whole, in large pieces and byte by byte.
fn outcome_of_chunked(body: &[u8]) -> String {
    let message = [CHUNKED, body].concat();
    let whole = outcome([&message[..]], &HeadLimits::default());
    for piece_bytes in [1, 1000] {
        assert_eq!(outcome(message.chunks(piece_bytes), &HeadLimits::default()), whole);
    }
    whole.trim_start_matches("POST / @a 1.1 keep chunked | ").to_owned()
}

#[test]
fn chunk_extensions_have_a_limit_that_data_extends() {
    let limit = usize::from(MAX_CHUNK_EXTENSION_BYTES);
    let extension = |bytes: usize| format!(";{}", "x".repeat(bytes - 1));
    let chunk =
        |size: usize, bytes: usize| format!("{size:x}{}\r\n{}\r\n", extension(bytes), "d".repeat(size));

    assert_eq!(outcome_of_chunked(format!("0{}\r\n\r\n", extension(limit)).as_bytes()), "end");
    assert_eq!(
        outcome_of_chunked(format!("0{}\r\n\r\n", extension(limit + 1)).as_bytes()),
        "400 ChunkExtensionsTooLong"
    );
    let earned = [chunk(1000, limit), chunk(2, 1000), chunk(1, 2)].concat();
    assert!(outcome_of_chunked(format!("{earned}0\r\n\r\n").as_bytes()).ends_with("\" | end"));
    let refused = outcome_of_chunked(format!("{earned}0;x\r\n\r\n").as_bytes());
    assert!(refused.ends_with("\" | 400 ChunkExtensionsTooLong"), "{refused}");
    // More data than the limit earns no more than the limit.
    let large = chunk(limit * 2, 2);
    assert!(
        outcome_of_chunked(format!("{large}0{}\r\n\r\n", extension(limit)).as_bytes()).ends_with("\" | end")
    );
    let refused = outcome_of_chunked(format!("{large}0{}\r\n\r\n", extension(limit + 1)).as_bytes());
    assert!(refused.ends_with("\" | 400 ChunkExtensionsTooLong"));
}

#[test]
fn a_trailer_section_may_have_its_limit_and_no_byte_more() {
    let section = |length: usize| format!("0\r\nX: {}\r\n\r\n", "y".repeat(length - "X: \r\n\r\n".len()));
    assert!(outcome_of_chunked(section(MAX_TRAILER_BYTES).as_bytes()).starts_with("end x: yyy"));
    assert_eq!(outcome_of_chunked(section(MAX_TRAILER_BYTES + 1).as_bytes()), "431 TrailersTooLarge");
    let endless = format!("0\r\nX: {}", "y".repeat(MAX_TRAILER_BYTES));
    assert_eq!(outcome_of_chunked(endless.as_bytes()), "431 TrailersTooLarge");
}

#[test]
fn a_trailer_section_may_have_as_many_fields_as_the_limit_says() {
    let section = |count: usize| format!("0\r\n{}\r\n", "X: y\r\n".repeat(count));
    assert_eq!(outcome_of_chunked(section(MAX_TRAILERS).as_bytes()).matches("x: y").count(), MAX_TRAILERS);
    assert_eq!(outcome_of_chunked(section(MAX_TRAILERS + 1).as_bytes()), "431 TooManyTrailers");
}

#[test]
fn a_partial_head_waits_for_more_with_what_came_before() {
    let mut receiver = Receiver::new(HeadLimits::default());
    for piece in ["\r", "\nGET ", "/a", " HTTP/1.1\r", "\nHos", "t: a", "\r\n", "\r", "\nGET /b"] {
        receiver.receive(piece.as_bytes());
    }
    assert_eq!(receiver.finish(), "GET /a @a 1.1 keep | partial head");
}
