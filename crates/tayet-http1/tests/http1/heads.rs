//! What a head says of its request.

use http::{Method, Version};
use tayet_http1::{Connection, Head, HeadLimits};

fn receive(head: &mut Head, message: &[u8]) {
    let received = Connection::new().receive_head(&mut &message[..], head, &HeadLimits::default());
    assert_eq!(received, Ok(true));
}

fn parse(message: &[u8]) -> Head {
    let mut head = Head::default();
    receive(&mut head, message);
    head
}

#[test]
fn fields_come_in_order_as_received() {
    let head = parse(b"GET / HTTP/1.1\r\nhOst: a\r\nX-One:  1 \r\nx-two: \xff\r\nX-ONE: 3\r\nEmpty:\r\n\r\n");
    let fields: Vec<(&str, &[u8])> = head.fields().collect();
    let expected: [(&str, &[u8]); 5] =
        [("hOst", b"a"), ("X-One", b"1"), ("x-two", b"\xff"), ("X-ONE", b"3"), ("Empty", b"")];
    assert_eq!(fields, expected);
    assert_eq!(head.get("x-oNe"), Some(&b"1"[..]));
    assert_eq!(head.get_all("x-one").collect::<Vec<_>>(), [b"1", b"3"]);
    assert_eq!(head.get("empty"), Some(&b""[..]));
    assert_eq!(head.get("x-on"), None);
}

#[test]
fn a_header_map_has_the_same_fields() {
    let head = parse(b"GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nx-two: \xff\r\nX-ONE: 3\r\n\r\n");
    let map = head.header_map();
    assert_eq!(map.len(), 4);
    assert_eq!(map["host"], "a");
    assert_eq!(map.get_all("x-one").iter().collect::<Vec<_>>(), ["1", "3"]);
    assert_eq!(map["x-two"].as_bytes(), b"\xff");
}

#[test]
fn a_target_is_given_whole_and_in_parts() {
    for (target, path, query, authority) in [
        ("/a%20b?c=%2F&d", "/a%20b", Some("c=%2F&d"), Some("h")),
        ("/", "/", None, Some("h")),
        ("/?", "/", Some(""), Some("h")),
        ("http://b:1/c?d", "/c", Some("d"), Some("b:1")),
        ("http://b", "/", None, Some("b")),
        ("http://b?d", "/", Some("d"), Some("b")),
    ] {
        let head = parse(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        assert_eq!(head.target(), target);
        assert_eq!((head.path(), head.query(), head.authority()), (path, query, authority), "{target}");
        assert_eq!(head.path_bytes(), path.as_bytes(), "{target}");
    }
    let connect = parse(b"CONNECT b:443 HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!((connect.method(), connect.target()), (&Method::CONNECT, "b:443"));
    assert_eq!((connect.path(), connect.query(), connect.authority()), ("", None, Some("b:443")));
    assert_eq!(connect.path_bytes(), b"");
    let options = parse(b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!((options.target(), options.path(), options.query()), ("*", "*", None));
}

#[test]
fn connection_options_are_found_in_lists() {
    let head =
        parse(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nConnection: x\r\n\r\n");
    assert!(head.has_connection_option("upgrade"));
    assert!(head.has_connection_option("X"));
    assert!(!head.has_connection_option("up"));
}

#[test]
fn a_head_that_is_used_again_remembers_nothing() {
    let mut head = Head::default();
    receive(
        &mut head,
        b"POST http://secret/path?query HTTP/1.0\r\nHost: b\r\nConnection: keep-alive\r\nX: y\r\n\
          Content-Length: 5\r\n\r\n",
    );
    receive(
        &mut head,
        b"PUT / HTTP/1.1\r\nHost: b\r\nConnection: close\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    receive(&mut head, b"GET / HTTP/1.1\r\nHost:\r\n\r\n");
    assert_eq!((head.method(), head.target(), head.version()), (&Method::GET, "/", Version::HTTP_11));
    assert_eq!((head.path(), head.query(), head.authority()), ("/", None, None));
    assert_eq!(head.fields().collect::<Vec<_>>(), [("Host", &b""[..])]);
    assert!(head.is_persistent() && !head.expects_continue());
    assert_eq!(head.body_length(), tayet_http1::BodyLength::None);
}

/// A Host line that is the last head's is not checked again; whatever differs is read as if there had been none.
#[test]
fn a_host_is_judged_alike_whatever_came_before() {
    let lines: [&[u8]; 13] = [
        b"Host: a.bc:8080\r\n",
        b"Host: a.bc:808\r\n",
        b"Host: a.bc:80800\r\n",
        b"Host: a.bc:80x0\r\n",
        b"Host: a.bx:8080\r\n",
        b"host: a.bc:8080\r\n",
        b"Host:a.bc:8080\r\n",
        b"Host: a.bc:8080 \r\n",
        b"Host: a.bc:8080\r\nHost: a.bc:8080\r\n",
        b"Host: a.bc:8080\r\r\n",
        b"Hosx: a.bc:8080\r\n",
        b"Host:\r\n",
        b"X: y\r\nHost: a.bc:8080\r\n",
    ];
    let receive = |head: &mut Head, line: &[u8]| {
        let message = [b"GET / HTTP/1.1\r\n", line, b"\r\n"].concat();
        let received = Connection::new().receive_head(&mut &message[..], head, &HeadLimits::default());
        let fields: Vec<_> = head.fields().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (received, head.authority().map(str::to_owned), fields)
    };
    for first in lines {
        for second in lines {
            let mut head = Head::default();
            for line in [first, second] {
                let judged = receive(&mut head, line);
                let (first, second) = (first.escape_ascii(), second.escape_ascii());
                assert_eq!(judged, receive(&mut Head::default(), line), "{first}, then {second}");
            }
        }
    }
}

#[test]
fn a_cleared_head_is_like_a_new_one() {
    let mut head =
        parse(b"PUT /a?b HTTP/1.0\r\nHost: c\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n");
    head.clear();
    assert_eq!((head.method(), head.target(), head.version()), (&Method::GET, "", Head::default().version()));
    assert_eq!((head.query(), head.authority(), head.get("host")), (None, None, None));
    assert_eq!((head.fields().len(), head.header_map().len()), (0, 0));
    assert_eq!(head.body_length(), tayet_http1::BodyLength::None);
}

#[test]
fn debug_output_has_no_values() {
    let head = parse(b"GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: secret\r\n\r\n");
    let text = format!("{head:?}");
    assert!(text.contains("/a") && text.contains("Authorization"));
    assert!(!text.contains("secret"));
}
