//! The bytes that are sent.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode, Version};
use tayet_http1::{
    CONTINUE, Date, ResponseHead, ResponseLength, encode_chunk, encode_interim, encode_last_chunk, encode_ok,
};

fn date() -> Date {
    Date::from(UNIX_EPOCH + Duration::from_secs(784_111_777))
}

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    lines.iter().map(|&(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
}

fn head<'a>(date: &'a Date) -> ResponseHead<'a> {
    ResponseHead {
        status: StatusCode::OK,
        reason: None,
        request_version: Version::HTTP_11,
        keep_alive: true,
        length: ResponseLength::Fixed(13),
        content_type: None,
        fields: None,
        date,
    }
}

fn encode(head: &ResponseHead<'_>) -> String {
    let mut out = b"before ".to_vec();
    head.encode(&mut out);
    String::from_utf8(out).unwrap().strip_prefix("before ").expect("it only adds").to_owned()
}

#[test]
fn a_common_response() {
    let text = HeaderValue::from_static("text/plain");
    assert_eq!(
        encode(&ResponseHead { content_type: Some(&text), ..head(&date()) }),
        "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-type: text/plain\r\n\
         content-length: 13\r\n\r\n"
    );
}

#[test]
fn the_commonest_answer_is_written_as_any_other() {
    let text = HeaderValue::from_static("text/plain");
    for content_type in [None, Some(&text)] {
        for bytes in [0, 1, 9, 10, 99, 100, 1_000, 12_345] {
            let body = "x".repeat(bytes);
            let mut out = b"before ".to_vec();
            encode_ok(content_type, body.as_bytes(), &date(), &mut out);
            let length = ResponseLength::Fixed(bytes as u64);
            let other = encode(&ResponseHead { content_type, length, ..head(&date()) });
            assert_eq!(String::from_utf8(out).unwrap(), format!("before {other}{body}"));
        }
    }
}

#[test]
fn status_lines() {
    for (code, line) in [
        (200, "HTTP/1.1 200 OK\r\n"),
        (404, "HTTP/1.1 404 Not Found\r\n"),
        (431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"),
        (299, "HTTP/1.1 299 \r\n"),
        (999, "HTTP/1.1 999 \r\n"),
    ] {
        let status = StatusCode::from_u16(code).unwrap();
        assert!(encode(&ResponseHead { status, ..head(&date()) }).starts_with(line), "{code}");
    }
}

#[test]
fn bodies_are_delimited_as_asked() {
    for (status, length, line) in [
        (200, ResponseLength::Fixed(0), Some("content-length: 0")),
        (200, ResponseLength::Fixed(u64::MAX), Some("content-length: 18446744073709551615")),
        (200, ResponseLength::Chunked, Some("transfer-encoding: chunked")),
        (200, ResponseLength::UntilClose, None),
        (304, ResponseLength::None, None),
        (304, ResponseLength::Fixed(5), Some("content-length: 5")),
        (204, ResponseLength::None, None),
        (204, ResponseLength::Fixed(0), None),
        (103, ResponseLength::Fixed(0), None),
        (101, ResponseLength::Chunked, None),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let text = encode(&ResponseHead { status, length, ..head(&date()) });
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains("length") || line.contains("encoding")).collect();
        assert_eq!(lines, Vec::from_iter(line), "{status} {length:?}");
    }
}

#[test]
fn lengths_are_written_in_decimal() {
    let powers = (0..20).map(|exponent| 10u64.pow(exponent));
    for length in powers.flat_map(|power| [power - 1, power, power + 1, power / 2 * 3]).chain(0..=1234) {
        let text = encode(&ResponseHead { length: ResponseLength::Fixed(length), ..head(&date()) });
        assert!(text.ends_with(&format!("\r\ncontent-length: {length}\r\n\r\n")), "{length}: {text}");
    }
}

#[test]
fn a_stream_is_chunked_where_the_client_understands_it() {
    assert_eq!(ResponseLength::of_stream(Version::HTTP_11), ResponseLength::Chunked);
    assert_eq!(ResponseLength::of_stream(Version::HTTP_10), ResponseLength::UntilClose);
}

#[test]
fn the_connection_line_depends_on_the_version_and_on_what_follows() {
    for (request_version, keep_alive, length, line) in [
        (Version::HTTP_11, true, ResponseLength::Fixed(1), None),
        (Version::HTTP_11, false, ResponseLength::Fixed(1), Some("connection: close")),
        (Version::HTTP_10, true, ResponseLength::Fixed(1), Some("connection: keep-alive")),
        (Version::HTTP_10, false, ResponseLength::Fixed(1), Some("connection: close")),
        (Version::HTTP_11, true, ResponseLength::UntilClose, Some("connection: close")),
        (Version::HTTP_10, true, ResponseLength::UntilClose, Some("connection: close")),
    ] {
        let text = encode(&ResponseHead { request_version, keep_alive, length, ..head(&date()) });
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("connection")).collect();
        assert_eq!(lines, Vec::from_iter(line), "{request_version:?} {keep_alive} {length:?}");
        assert!(text.starts_with("HTTP/1.1 "));
    }
}

#[test]
fn fields_are_copied_but_for_the_servers_own() {
    let fields = fields(&[
        ("x-one", "1"),
        ("X-One", "2"),
        ("set-cookie", "a=b"),
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("transfer-encoding", "gzip"),
        ("content-length", "99"),
    ]);
    let text = HeaderValue::from_static("text/plain");
    let encoded = encode(&ResponseHead { content_type: Some(&text), fields: Some(&fields), ..head(&date()) });
    let mut lines: Vec<&str> = encoded.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "",
            "content-length: 13",
            "content-type: text/plain",
            "date: Sun, 06 Nov 1994 08:49:37 GMT",
            "set-cookie: a=b",
            "x-one: 1",
            "x-one: 2",
        ]
    );
}

#[test]
fn a_date_and_a_content_type_of_the_users_win() {
    let fields = fields(&[("date", "Thu, 01 Jan 1970 00:00:00 GMT"), ("content-type", "text/html")]);
    let text = HeaderValue::from_static("text/plain");
    let encoded = encode(&ResponseHead { content_type: Some(&text), fields: Some(&fields), ..head(&date()) });
    let count = |part| encoded.matches(part).count();
    assert_eq!((count("date: "), count("date: Thu, 01 Jan 1970 00:00:00 GMT\r\n")), (1, 1));
    assert_eq!((count("content-type: "), count("content-type: text/html\r\n")), (1, 1));
}

#[test]
fn an_upgrade_is_a_connection_option() {
    let fields = fields(&[("upgrade", "websocket"), ("connection", "ignored")]);
    for (status, request_version, keep_alive, line) in [
        (StatusCode::SWITCHING_PROTOCOLS, Version::HTTP_11, true, "connection: upgrade"),
        (StatusCode::SWITCHING_PROTOCOLS, Version::HTTP_11, false, "connection: upgrade"),
        (StatusCode::UPGRADE_REQUIRED, Version::HTTP_11, true, "connection: upgrade"),
        (StatusCode::UPGRADE_REQUIRED, Version::HTTP_11, false, "connection: upgrade, close"),
        (StatusCode::UPGRADE_REQUIRED, Version::HTTP_10, true, "connection: upgrade, keep-alive"),
    ] {
        let fields = Some(&fields);
        let text = encode(&ResponseHead { status, request_version, keep_alive, fields, ..head(&date()) });
        assert!(text.contains("\r\nupgrade: websocket\r\n"));
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("connection")).collect();
        assert_eq!(lines, [line], "{status} {request_version:?} {keep_alive}");
    }
}

#[test]
fn chunks() {
    for (length, size) in [(1, "1"), (15, "f"), (16, "10"), (255, "ff"), (256, "100"), (70_000, "11170")] {
        let data = vec![b'x'; length];
        let mut out = b"before ".to_vec();
        encode_chunk(&mut out, &data);
        assert_eq!(out, [b"before ", size.as_bytes(), b"\r\n", &data[..], b"\r\n"].concat());
    }
}

#[test]
fn an_empty_chunk_is_none() {
    let mut out = Vec::new();
    encode_chunk(&mut out, b"");
    assert_eq!(out, b"");
}

#[test]
fn the_last_chunk_carries_the_trailers_that_may_come_there() {
    let mut out = Vec::new();
    encode_last_chunk(&mut out, None);
    assert_eq!(out, b"0\r\n\r\n");

    let trailers = fields(&[("digest", "abc"), ("content-length", "5"), ("transfer-encoding", "chunked")]);
    let mut out = Vec::new();
    encode_last_chunk(&mut out, Some(&trailers));
    assert_eq!(out, b"0\r\ndigest: abc\r\n\r\n");
}

#[test]
fn an_interim_response_is_a_head_without_framing() {
    let fields = fields(&[("location", "/a"), ("content-length", "5"), ("transfer-encoding", "chunked")]);
    let mut out = b"before ".to_vec();
    encode_interim(StatusCode::from_u16(104).unwrap(), &fields, &mut out);
    assert_eq!(
        out, b"before HTTP/1.1 104 \r\nlocation: /a\r\n\r\n",
        "a status that has no reason phrase yet"
    );
    let mut out = Vec::new();
    encode_interim(StatusCode::CONTINUE, &HeaderMap::new(), &mut out);
    assert_eq!(out, CONTINUE);
}
