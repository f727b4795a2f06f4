//! What is accepted and what is refused, as tables: a message and what comes of it, however it is cut.

use tayet_http1::HeadLimits;

use crate::support::outcome_however_cut;

type Table<'a> = &'a [(&'a [u8], &'a str)];

fn check(table: Table<'_>) {
    for (message, expected) in table {
        let outcome = outcome_however_cut(message, &HeadLimits::default());
        assert_eq!(outcome, *expected, "{}", message.escape_ascii());
    }
}

#[test]
fn request_lines() {
    check(&[
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close"),
        (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / @a 1.1 keep"),
        (b"PATCH / HTTP/1.1\r\nHost: a\r\n\r\n", "PATCH / @a 1.1 keep"),
        (b"get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / @a 1.1 keep"),
        (b"GETX / HTTP/1.1\r\nHost: a\r\n\r\n", "GETX / @a 1.1 keep"),
        (b"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH / @a 1.1 keep"),
        (b"!#$%&'*+-.^_`|~0aZ / HTTP/1.1\r\nHost: a\r\n\r\n", "!#$%&'*+-.^_`|~0aZ / @a 1.1 keep"),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedRequestLine"),
        (b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400 MalformedRequestLine"),
        (b"GET / a HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedRequestLine"),
        (b" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET / HTTP/1.1\t\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"G\xc3\x89T / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"GET: / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"(GET) / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"GET\r\n\r\n", "400 MalformedRequestLine"),
        (b"GET \r\n\r\n", "400 MalformedRequestLine"),
        (b"GET /\r\n\r\n", "400 MalformedRequestLine"),
        (b"GET / \r\n\r\n", "400 MalformedVersion"),
        (b"GET HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedRequestLine"),
        (b"Host: a\r\n\r\n", "400 MalformedMethod"),
        (b"hello\r\n", "400 MalformedRequestLine"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "400 MalformedRequestLine"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400 ControlByte"),
        (b"\x16", "400 ControlByte"),
        (b"\0", "400 ControlByte"),
        (b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", "400 ControlByte"),
        (b"GET /\x01", "400 ControlByte"),
        (b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", "400 ControlByte"),
        (b"GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\0\r\nHost: a\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\x0b\r\nHost: a\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\n\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\nHost: a\r\n\r\n", "400 BareLineFeed"),
        (b"GET /\nHost: a\r\n\r\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\rHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\rHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET\r/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "400 BareCarriageReturn"),
    ]);
}

#[test]
fn versions() {
    check(&[
        (b"GET / HTTP/2.0\r\n\r\n", "505 UnsupportedVersion"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/1.9\r\nHost: a\r\n\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/0.9\r\n\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/3.0\r\n\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/9.9\r\nHost : a\r\n\r\n", "505 UnsupportedVersion"),
        (b"G T HTTP/2.0\r\n", "505 UnsupportedVersion"),
        (b"GET / HTTP/1.10\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/01.1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/1.\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/11\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/1,1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/a.b\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP/-1.1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / http/1.1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / HTTP 1.1\r\nHost: a\r\n\r\n", "400 MalformedRequestLine"),
        (b"GET / HTTPS/1.1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / XTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedVersion"),
        (b"GET / RTSP/1.0\r\n\r\n", "400 MalformedVersion"),
    ]);
}

#[test]
fn targets() {
    check(&[
        (b"GET /a/b?c=d&e HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a/b?c=d&e @a 1.1 keep"),
        (b"GET /a? HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a? @a 1.1 keep"),
        (b"GET /a?b?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b?c @a 1.1 keep"),
        (b"GET //a//../b/. HTTP/1.1\r\nHost: a\r\n\r\n", "GET //a//../b/. @a 1.1 keep"),
        (b"GET /%2F%00%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%2F%00%zz @a 1.1 keep"),
        (b"GET /{}|\\^`\"<>[] HTTP/1.1\r\nHost: a\r\n\r\n", "GET /{}|\\^`\"<>[] @a 1.1 keep"),
        (b"GET /http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /http://b/ @a 1.1 keep"),
        (b"GET http://b/c?d HTTP/1.1\r\nHost: a\r\n\r\n", "GET /c?d @b 1.1 keep"),
        (b"GET http://b:8080/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / @b:8080 1.1 keep"),
        (b"GET HTTPS://b HTTP/1.1\r\nHost: a\r\n\r\n", "GET / @b 1.1 keep"),
        (b"GET http://b?c/d HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?c/d @b 1.1 keep"),
        (b"GET http://[::1]:80/ HTTP/1.0\r\n\r\n", "GET / @[::1]:80 1.0 close"),
        (b"GET http://b/ HTTP/1.1\r\nHost:\r\n\r\n", "GET / @b 1.1 keep"),
        (b"GET http://b/ HTTP/1.1\r\n\r\n", "400 MissingHost"),
        (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * @a 1.1 keep"),
        (b"OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS / @a 1.1 keep"),
        (b"OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS / @b 1.1 keep"),
        (b"CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT  @b:443 1.1 keep"),
        (b"CONNECT [::1]:443 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT  @[::1]:443 1.1 keep"),
        (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 AsteriskWithoutOptions"),
        (b"options * HTTP/1.1\r\nHost: a\r\n\r\n", "400 AsteriskWithoutOptions"),
        (b"OPTIONS *?a HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT b HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT b: HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT b:x HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT b:443/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT b:443?c HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT http://b:443/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"CONNECT * HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedConnectTarget"),
        (b"GET b:443 HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET a HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http:/b HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http://b:99999/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET http://b\\c/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", "400 FragmentInTarget"),
        (b"GET /?a#b HTTP/1.1\r\nHost: a\r\n\r\n", "400 FragmentInTarget"),
        (b"GET http://b#c HTTP/1.1\r\nHost: a\r\n\r\n", "400 FragmentInTarget"),
        (b"GET # HTTP/1.1\r\nHost: a\r\n\r\n", "400 FragmentInTarget"),
        (b"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET /?\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
        (b"GET \xff HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedTarget"),
    ]);
}

#[test]
fn empty_lines_before_a_request() {
    check(&[
        (b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / @a 1.1 keep"),
        (b"\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / @a 1.1 keep"),
        (b"\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 TooManyEmptyLines"),
        (b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareLineFeed"),
        (b"\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareLineFeed"),
        (b"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b"\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 BareCarriageReturn"),
        (b" \r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedMethod"),
        (b"", ""),
        (b"\r\n\r", ""),
        (b"G", "partial head"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r", "partial head"),
    ]);
}

#[test]
fn fields() {
    check(&[
        (b"GET / HTTP/1.1\r\nhOsT:a\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost:  a\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost:a \r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\tc \xc3\xa9\xff\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~: x\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: a:b: c\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", "400 MissingColon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX Y\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", "400 EmptyFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", "400 SpaceBeforeColon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\t: b\r\n\r\n", "400 SpaceBeforeColon"),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400 SpaceBeforeColon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX \t : b\r\n\r\n", "400 SpaceBeforeColon"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX(Y): b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX/Y: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\"Y: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa9: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX Y\r\n: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX \r\n: b\r\n\r\n", "400 MalformedFieldName"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n b\r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n", "400 ObsoleteFolding"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\nY: c\r\n\r\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\r\nHost: a\n\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\n\r\n", "400 BareLineFeed"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\rX: b\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\r: b\r\n\r\n", "400 BareCarriageReturn"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\x7f\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x0bb\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\x1b[31m\r\n\r\n", "400 ControlByte"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\x08", "400 ControlByte"),
    ]);
}

#[test]
fn hosts() {
    check(&[
        (b"GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", "GET / @example.com:8080 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: example.com:\r\n\r\n", "GET / @example.com: 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET / @127.0.0.1 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n", "GET / @[2001:db8::1]:8080 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / 1.1 keep"),
        (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / @a 1.0 close"),
        (b"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close"),
        (b"GET / HTTP/1.1\r\n\r\n", "400 MissingHost"),
        (b"GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", "400 MissingHost"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 DuplicateHost"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhost: b\r\n\r\n", "400 DuplicateHost"),
        (b"GET / HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n", "400 DuplicateHost"),
        (b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "400 DuplicateHost"),
        (b"GET / HTTP/1.0\r\nHost: a b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a#b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a:-80\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: a%2\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: caf\xc3\xa9\r\n\r\n", "400 MalformedHost"),
        (b"GET / HTTP/1.1\r\nHost: \"a\"\r\n\r\n", "400 MalformedHost"),
    ]);
}

#[test]
fn content_lengths() {
    check(&[
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
            "POST / @a 1.1 keep 5 | \"hello\" | end",
        ),
        (b"POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", "POST / 1.0 close 5 | \"hello\" | end"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "GET / @a 1.1 keep 2 | \"hi\" | end"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST / @a 1.1 keep"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello",
            "POST / @a 1.1 keep 5 | \"hello\" | end",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell",
            "POST / @a 1.1 keep 5 | \"hell\" | partial body",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n",
            "POST / @a 1.1 keep 18446744073709551615 | partial body",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
            "400 MalformedContentLength",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "400 MalformedContentLength",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5e0\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5_0\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \"5\"\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,5\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5,\r\n\r\nhello", "400 MalformedContentLength"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \xb2\r\n\r\nhello", "400 MalformedContentLength"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "400 DuplicateContentLength",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 6\r\n\r\nhello",
            "400 DuplicateContentLength",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
            "400 DuplicateContentLength",
        ),
        (
            b"POST / HTTP/1.0\r\nContent-Length: 5\r\nContent-Length: x\r\n\r\nhello",
            "400 DuplicateContentLength",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello", "400 SpaceBeforeColon"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length\r\n: 5\r\n\r\nhello", "400 MissingColon"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 5\r\n\r\nhello", "400 MalformedContentLength"),
    ]);
}

#[test]
fn transfer_encodings() {
    const END: &str = "POST / @a 1.1 keep chunked | end";
    check(&[
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", END),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING:\tCHUNKED \r\n\r\n0\r\n\r\n", END),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501 UnknownTransferCoding"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "501 UnknownTransferCoding",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked-x\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunk\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: cow;a=b\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "400 ChunkedNotLast"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n",
            "400 ChunkedNotLast",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked, gzip\r\n\r\n", "400 ChunkedNotLast"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "400 ChunkedNotLast"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "400 ChunkedTwice"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: Chunked\r\n\r\n",
            "400 ChunkedTwice",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked ;\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: 'chunked'\r\n\r\n", "501 UnknownTransferCoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked chunked\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun ked\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \xffchunked\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", "400 ControlByte"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\n chunked\r\n\r\n", "400 BareLineFeed"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", "400 MalformedTransferEncoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", "400 SpaceBeforeColon"),
        (b"POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n", "400 ObsoleteFolding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer\x00Encoding: chunked\r\n\r\n", "400 ControlByte"),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 TransferEncodingInHttp10"),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n", "400 TransferEncodingInHttp10"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "400 ContentLengthWithTransferEncoding",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "400 ContentLengthWithTransferEncoding",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "400 ContentLengthWithTransferEncoding",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            "400 ContentLengthWithTransferEncoding",
        ),
        // Not the fields that they look like, so there's no body.
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n", "POST / @a 1.1 keep"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\n\r\n", "POST / @a 1.1 keep"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nX-Transfer-Encoding: chunked\r\n\r\n", "POST / @a 1.1 keep"),
    ]);
}

#[test]
fn persistence_and_expectations() {
    check(&[
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / @a 1.1 close"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", "GET / @a 1.1 close"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\n\r\n", "GET / @a 1.1 close"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n", "GET / @a 1.1 close"),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: x,,close\r\n\r\n",
            "GET / @a 1.1 close",
        ),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: close\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.0\r\nUser-Agent: keep-alive\r\n\r\n", "GET / 1.0 close"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection:\r\n\r\n", "GET / @a 1.1 keep"),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / 1.0 keep"),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive, x\r\n\r\n", "GET / 1.0 keep"),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET / 1.0 close"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
            "POST / @a 1.1 keep 2 continue | \"hi\" | end",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\nhi",
            "POST / @a 1.1 keep 2 continue | \"hi\" | end",
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", "POST / @a 1.1 keep"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", "POST / @a 1.1 keep"),
        (
            b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
            "POST / 1.0 close 2 | \"hi\" | end",
        ),
        (b"POST / HTTP/1.0\r\nExpect: cake\r\n\r\n", "POST / 1.0 close"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n", "417 UnknownExpectation"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, cake\r\n\r\n", "417 UnknownExpectation"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue=1\r\n\r\n", "417 UnknownExpectation"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100\r\n\r\n", "417 UnknownExpectation"),
    ]);
}

/// What comes of `body` behind a head that says that it is chunked.
fn check_chunked(table: Table<'_>) {
    const HEAD: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, expected) in table {
        let outcome = outcome_however_cut(&[HEAD, body].concat(), &HeadLimits::default());
        assert_eq!(outcome, format!("POST / @a 1.1 keep chunked | {expected}"), "{}", body.escape_ascii());
    }
}

#[test]
fn chunks() {
    check_chunked(&[
        (b"5\r\nhello\r\n0\r\n\r\n", "\"hello\" | end"),
        (b"1\r\nh\r\n4\r\nello\r\n0\r\n\r\n", "\"hello\" | end"),
        (b"A\r\n0123456789\r\na\r\n0123456789\r\n00\r\n\r\n", "\"01234567890123456789\" | end"),
        (b"0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n", "\"hello\" | end"),
        (b"2\r\n\r\n\r\n0\r\n\r\n", "\"\\r\\n\" | end"),
        (b"5\r\nhel", "\"hel\" | partial body"),
        (b"5\r\nhello\r\n0\r\n", "\"hello\" | partial body"),
        (b"5\r\nhello\r\n0\r\n\r", "\"hello\" | partial body"),
        (b"FFFFFFFFFFFFFFFF\r\nhello", "\"hello\" | partial body"),
        (b"00000000000000005\r\nhello\r\n0\r\n\r\n", "400 ChunkSizeTooLong"),
        (b"10000000000000000\r\nhello", "400 ChunkSizeTooLong"),
        (b"FFFFFFFFFFFFFFFFF\r\nhello", "400 ChunkSizeTooLong"),
        (b"\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b";a\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b" 5\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"+5\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"-5\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"0x5\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"5_\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"5.\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"5,\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"5\0\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"g\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"\xef\xbc\x95\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkSize"),
        (b"5\nhello\r\n0\r\n\r\n", "400 BareLineFeed"),
        (b"\n", "400 BareLineFeed"),
        (b"5\rhello\r\n0\r\n\r\n", "400 BareCarriageReturn"),
        (b"5\r\r\nhello\r\n0\r\n\r\n", "400 BareCarriageReturn"),
        (b"5\r\nhello!\r\n0\r\n\r\n", "\"hello\" | 400 ChunkOverrun"),
        (b"4\r\nhello\r\n0\r\n\r\n", "\"hell\" | 400 ChunkOverrun"),
        (b"5\r\nhello0\r\n\r\n", "\"hello\" | 400 ChunkOverrun"),
        (b"6\r\nhello\r\n0\r\n\r\n", "\"hello\\r\" | 400 BareLineFeed"),
        (b"5\r\nhello\n0\r\n\r\n", "\"hello\" | 400 BareLineFeed"),
        (b"5\r\nhello\r0\r\n\r\n", "\"hello\" | 400 BareCarriageReturn"),
        (b"5\r\nhello\r\n0\n\r\n", "\"hello\" | 400 BareLineFeed"),
        (b"5\r\nhello\r\n0\r\n\n", "\"hello\" | 400 BareLineFeed"),
        (b"5\r\nhello\r\n0\r\n\rX", "\"hello\" | 400 BareCarriageReturn"),
        (b"5\r\nhello\r\n\r\n0\r\n\r\n", "\"hello\" | 400 MalformedChunkSize"),
    ]);
}

#[test]
fn chunk_extensions() {
    check_chunked(&[
        (b"5;a\r\nhello\r\n0;b=c\r\n\r\n", "\"hello\" | end"),
        (b"5;a=b;c=\"d;\\\"\t\xff\";e\r\nhello\r\n0\r\n\r\n", "\"hello\" | end"),
        (b"5 ; a = b\t;\tc = \"\"\r\nhello\r\n0\r\n\r\n", "\"hello\" | end"),
        (b"5;a=\"\" ;b\r\nhello\r\n0\r\n\r\n", "\"hello\" | end"),
        (b"5;\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;;a\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;=b\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a=\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a b\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a=b c\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a=b=c\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a=\"b\"c\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a=\"b\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a/b\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;\xff\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5 \r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5\t\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5 5\r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a \r\nhello\r\n0\r\n\r\n", "400 MalformedChunkExtension"),
        (b"5;a\nhello\r\n0\r\n\r\n", "400 BareLineFeed"),
        (b"5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", "400 BareLineFeed"),
        (b"5;a\rb\r\nhello\r\n0\r\n\r\n", "400 BareCarriageReturn"),
        (b"5;a\0\r\nhello\r\n0\r\n\r\n", "400 ControlByte"),
        (b"5;a=\"\\\x7f\"\r\nhello\r\n0\r\n\r\n", "400 ControlByte"),
    ]);
}

#[test]
fn trailers() {
    check_chunked(&[
        (b"0\r\nX: y\r\n\r\n", "end x: y"),
        (b"0\r\nDigest:  a b \r\nDigest: c\r\nZ:\r\n\r\n", "end digest: a b digest: c z: "),
        (b"0\r\nX: y\r\n", "partial body"),
        (b"0\r\nX: y\r\n\r", "partial body"),
        (b"0\r\nX: y\n\r\n", "400 BareLineFeed"),
        (b"0\r\nX: y\r\n\n", "400 BareLineFeed"),
        (b"0\r\nX: y\rZ: z\r\n\r\n", "400 BareCarriageReturn"),
        (b"0\r\nX: y\r\n\rZ", "400 BareCarriageReturn"),
        (b"0\r\nX: \0\r\n\r\n", "400 ControlByte"),
        (b"0\r\nX : y\r\n\r\n", "400 SpaceBeforeColon"),
        (b"0\r\n X: y\r\n\r\n", "400 ObsoleteFolding"),
        (b"0\r\nX: y\r\n z\r\n\r\n", "400 ObsoleteFolding"),
        (b"0\r\n: y\r\n\r\n", "400 EmptyFieldName"),
        (b"0\r\nX\r\n\r\n", "400 MissingColon"),
        (b"0\r\nX(: y\r\n\r\n", "400 MalformedFieldName"),
        (b"0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400 MalformedFieldName"),
        (b"0\r\nContent-Length: 5\r\n\r\n", "400 ForbiddenTrailer"),
        (b"0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 ForbiddenTrailer"),
        (b"0\r\nHost: b\r\n\r\n", "400 ForbiddenTrailer"),
        (b"0\r\nX: y\r\nAuthorization: z\r\n\r\n", "400 ForbiddenTrailer"),
        (b"0\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n", "400 ForbiddenTrailer"),
    ]);
}

#[test]
fn messages_behind_each_other() {
    check(&[
        (
            b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\nGET /3 HTTP/1.0\r\n\r\n",
            "GET /1 @a 1.1 keep | GET /2 @b 1.1 keep | GET /3 1.0 close",
        ),
        (
            b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /1 @a 1.1 keep 5 | \"hello\" | end | GET /2 @a 1.1 keep",
        ),
        (
            b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /1 @a 1.1 keep 5 | \"hello\" | end | GET /2 @a 1.1 keep",
        ),
        (
            b"POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
              POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n\
              GET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST /1 @a 1.1 keep chunked | \"abc\" | end | POST /2 @a 1.1 keep chunked | end x: y | GET /3 @a 1.1 keep",
        ),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nhelloGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / @a 1.1 keep 4 | \"hell\" | end | oGET /2 @a 1.1 keep",
        ),
        (
            b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nhello\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /1 @a 1.1 keep | 400 MalformedRequestLine",
        ),
        (
            b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\
              \r\n\r\n\r\n\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /1 @a 1.1 keep | GET /2 @a 1.1 keep | 400 TooManyEmptyLines",
        ),
    ]);
}
