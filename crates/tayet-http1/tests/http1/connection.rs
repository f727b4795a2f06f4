//! What a connection tells of itself between its events.

use tayet_http1::{BodyEvent, BodyLength, Connection, Head, HeadLimits, Refusal};

fn receive_head(connection: &mut Connection, bytes: &[u8]) -> Head {
    let mut head = Head::default();
    let mut input = bytes;
    assert_eq!(connection.receive_head(&mut input, &mut head, &HeadLimits::default()), Ok(true));
    assert_eq!(input, b"");
    head
}

#[test]
fn a_partial_head_is_told_from_an_idle_connection() {
    let (mut connection, mut head) = (Connection::new(), Head::default());
    assert!(!connection.has_partial_head());
    for (piece, is_partial) in [
        (&b""[..], false),
        (b"\r\n", false),
        (b"\r", false),
        (b"\nG", true),
        (b"ET / HTTP/1.1\r\n", true),
        (b"Host: a\r\n", true),
    ] {
        assert_eq!(connection.receive_head(&mut &piece[..], &mut head, &HeadLimits::default()), Ok(false));
        assert_eq!(connection.has_partial_head(), is_partial, "after {}", piece.escape_ascii());
    }
    assert_eq!(connection.receive_head(&mut &b"\r\n"[..], &mut head, &HeadLimits::default()), Ok(true));
    assert!(!connection.has_partial_head());
}

#[test]
fn a_body_of_known_length_ends_without_further_input() {
    let mut connection = Connection::default();
    receive_head(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    assert!(connection.is_receiving_body());
    assert_eq!(connection.body_remaining(), Some(5));
    assert_eq!(connection.receive_body(&mut &b""[..]), Ok(None));

    let mut input = &b"hel"[..];
    assert_eq!(connection.receive_body(&mut input), Ok(Some(BodyEvent::Data(b"hel"))));
    assert_eq!((input, connection.body_remaining()), (&b""[..], Some(2)));

    let mut input = &b"loGET"[..];
    assert_eq!(connection.receive_body(&mut input), Ok(Some(BodyEvent::Data(b"lo"))));
    assert_eq!((input, connection.body_remaining()), (&b"GET"[..], Some(0)));
    assert!(connection.is_receiving_body());

    assert_eq!(connection.receive_body(&mut &b""[..]), Ok(Some(BodyEvent::End { trailers: None })));
    assert!(!connection.is_receiving_body());
    assert_eq!(connection.body_remaining(), None);
}

#[test]
fn bytes_that_somebody_else_receives_count_as_the_body() {
    let mut connection = Connection::default();
    receive_head(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(connection.receive_body(&mut &b"h"[..]), Ok(Some(BodyEvent::Data(b"h"))));
    connection.skip_body(3);
    assert_eq!(connection.body_remaining(), Some(1));
    connection.skip_body(1);
    assert!(!connection.is_receiving_body());
    receive_head(&mut connection, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

#[test]
fn a_chunked_body_has_no_known_rest() {
    let mut connection = Connection::new();
    receive_head(&mut connection, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert!(connection.is_receiving_body());
    assert_eq!(connection.body_remaining(), None);
    let mut input = &b"5\r\nhello\r\n0\r\n\r\nGET"[..];
    assert_eq!(connection.receive_body(&mut input), Ok(Some(BodyEvent::Data(b"hello"))));
    assert_eq!(connection.receive_body(&mut input), Ok(Some(BodyEvent::End { trailers: None })));
    assert_eq!(input, b"GET");
    assert!(!connection.is_receiving_body());
}

#[test]
fn a_message_without_a_body_needs_no_end() {
    let mut connection = Connection::new();
    for length in ["", "Content-Length: 0\r\n"] {
        let head =
            receive_head(&mut connection, format!("GET / HTTP/1.1\r\nHost: a\r\n{length}\r\n").as_bytes());
        assert_eq!(head.body_length(), BodyLength::None);
        assert!(!connection.is_receiving_body());
    }
}

#[test]
fn a_refused_head_leaves_nothing_behind() {
    let (mut connection, mut head) = (Connection::new(), Head::default());
    let mut input = &b"GET /secret HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nbad\r\n\r\n"[..];
    assert_eq!(
        connection.receive_head(&mut input, &mut head, &HeadLimits::default()),
        Err(Refusal::MissingColon)
    );
    assert_eq!((head.target(), head.fields().len(), head.authority()), ("", 0, None));
    assert!(!connection.has_partial_head() && !connection.is_receiving_body());
}

#[test]
fn a_refusal_says_its_status_and_its_reason() {
    for (refusal, status, reason) in [
        (Refusal::BareLineFeed, 400, "a line ends with LF alone"),
        (Refusal::MissingHost, 400, "Host is missing"),
        (Refusal::RequestLineTooLong, 414, "the request line is too long"),
        (Refusal::UnknownExpectation, 417, "the only expectation supported is 100-continue"),
        (Refusal::HeadTooLarge, 431, "the request's head is too large"),
        (Refusal::TooManyHeaders, 431, "the request has too many header fields"),
        (Refusal::TrailersTooLarge, 431, "the trailer section is too large"),
        (Refusal::TooManyTrailers, 431, "too many trailer fields"),
        (Refusal::UnknownTransferCoding, 501, "the only transfer coding supported is chunked"),
        (Refusal::UnsupportedVersion, 505, "only HTTP/1.0 and HTTP/1.1 are supported here"),
    ] {
        assert_eq!((refusal.status().as_u16(), refusal.reason()), (status, reason));
        assert_eq!(refusal.to_string(), reason);
    }
}
