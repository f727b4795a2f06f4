//! A response's head.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Version};

use crate::Date;

/// The interim response that lets a client send its body (RFC 9110 section 15.2.1).
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Adds an interim response (RFC 9110 section 15.2) to `out`: a head alone, which another one follows. HTTP/1.0 knows none.
///
/// Of the fields, Connection, Keep-Alive, Transfer-Encoding and Content-Length are left out.
///
/// ```
/// use http::{HeaderMap, StatusCode};
///
/// let fields = HeaderMap::from_iter([(http::header::LINK, "</a.css>; rel=preload".parse()?)]);
/// let mut out = Vec::new();
/// tayet_http1::encode_interim(StatusCode::EARLY_HINTS, &fields, &mut out);
/// assert_eq!(out, b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n");
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn encode_interim(status: StatusCode, fields: &HeaderMap, out: &mut Vec<u8>) {
    debug_assert!(status.is_informational(), "{status} is no interim status");
    encode_status_line(status, None, out);
    encode_fields(fields, out);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Room for the lines that the server writes itself, so that `out` grows once.
const OWN_LINES_BYTES: usize = 192;

/// How a response's body is delimited (RFC 9112 section 6.3).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ResponseLength {
    /// So many bytes follow, or would follow if the request weren't HEAD.
    Fixed(u64),
    /// In chunks ([`encode_chunk`](crate::encode_chunk)). Only for HTTP/1.1: see
    /// [`of_stream`](Self::of_stream).
    Chunked,
    /// Until the connection closes.
    UntilClose,
    /// There can be none, and no field says so: 1xx, 204 and 304.
    None,
}

impl ResponseLength {
    /// For a body of which the length isn't known: chunked if the client understands that, else until close.
    pub fn of_stream(request_version: Version) -> Self {
        if request_version == Version::HTTP_10 { Self::UntilClose } else { Self::Chunked }
    }
}

/// A response's head: what [`encode`](Self::encode) writes.
#[derive(Clone, Debug)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: StatusCode,
    /// The reason phrase in place of the status's usual one (RFC 9112 section 4).
    pub reason: Option<&'a HeaderValue>,
    /// The version of the request. The status line always says HTTP/1.1 (RFC 9110 section 6.2).
    pub request_version: Version,
    /// Whether the connection goes on after this response. With [`ResponseLength::UntilClose`] it never does.
    pub keep_alive: bool,
    /// How the body is delimited.
    pub length: ResponseLength,
    /// Content-Type, written where `fields` have none.
    pub content_type: Option<&'a HeaderValue>,
    /// The other fields. Connection, Keep-Alive, Transfer-Encoding and Content-Length among them are left
    /// out: these are the server's business.
    pub fields: Option<&'a HeaderMap>,
    /// Date, written where `fields` have none.
    pub date: &'a Date,
}

/// Adds the commonest answer to `out`, head and body: a 200 with fields of the server's alone, to a request of HTTP/1.1, and
/// the connection goes on behind it. The same bytes as [`ResponseHead::encode`]'s, in fewer steps.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use http::HeaderValue;
///
/// let mut out = Vec::new();
/// let text = HeaderValue::from_static("text/plain");
/// tayet_http1::encode_ok(Some(&text), b"hello", &UNIX_EPOCH.into(), &mut out);
/// assert!(out.ends_with(b"\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"));
/// ```
// Never inlined: within a larger function its own small parts would not be.
#[inline(never)]
pub fn encode_ok(content_type: Option<&HeaderValue>, body: &[u8], date: &Date, out: &mut Vec<u8>) {
    out.reserve(OWN_LINES_BYTES + body.len());
    match content_type {
        Some(content_type) => {
            out.extend_from_slice(date.lines_before_type());
            out.extend_from_slice(content_type.as_bytes());
        }
        None => out.extend_from_slice(date.lines()),
    }
    encode_content_length(body.len() as u64, out);
    out.extend_from_slice(body);
}

/// Each part but the status line begins with the end of the line before it.
impl ResponseHead<'_> {
    /// Adds the head to `out`, up to and with the empty line.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.length != ResponseLength::Chunked || self.request_version != Version::HTTP_10,
            "HTTP/1.0 knows no chunks: see ResponseLength::of_stream"
        );
        out.reserve(OWN_LINES_BYTES);
        let seen = match self.fields {
            Some(fields) => encode_start_with_fields(self.status, self.reason, self.date, fields, out),
            None => {
                self.encode_start(out);
                SeenFields::default()
            }
        };
        if let Some(content_type) = self.content_type
            && !seen.content_type
        {
            out.extend_from_slice(b"\r\ncontent-type: ");
            out.extend_from_slice(content_type.as_bytes());
        }
        self.encode_connection(out, seen.upgrade);
        self.encode_end(out);
    }

    /// The status line and Date.
    #[inline]
    fn encode_start(&self, out: &mut Vec<u8>) {
        if self.status == StatusCode::OK && self.reason.is_none() {
            out.extend_from_slice(self.date.lines());
        } else {
            encode_status_line(self.status, self.reason, out);
            out.extend_from_slice(self.date.line());
        }
    }

    /// A response with Upgrade must name it as a connection option (RFC 9110 section 7.8). 101 has no other:
    /// what comes then isn't HTTP/1.
    #[inline]
    fn encode_connection(&self, out: &mut Vec<u8>, upgrade: bool) {
        let persistence: &[u8] = if self.status == StatusCode::SWITCHING_PROTOCOLS {
            b""
        } else if !self.keep_alive || self.length == ResponseLength::UntilClose {
            b"close"
        } else if self.request_version == Version::HTTP_10 {
            b"keep-alive"
        } else {
            b""
        };
        match (upgrade, persistence) {
            (false, b"") => return,
            (false, _) => out.extend_from_slice(b"\r\nconnection: "),
            (true, b"") => out.extend_from_slice(b"\r\nconnection: upgrade"),
            (true, _) => out.extend_from_slice(b"\r\nconnection: upgrade, "),
        }
        out.extend_from_slice(persistence);
    }

    /// How the body is delimited, and the empty line. 1xx and 204 never have a length, whatever was asked (RFC
    /// 9110 section 8.6, RFC 9112 section 6.1).
    #[inline]
    fn encode_end(&self, out: &mut Vec<u8>) {
        match self.length {
            _ if self.status.is_informational() || self.status == StatusCode::NO_CONTENT => {
                out.extend_from_slice(b"\r\n\r\n");
            }
            ResponseLength::Fixed(length) => encode_content_length(length, out),
            ResponseLength::Chunked => out.extend_from_slice(b"\r\ntransfer-encoding: chunked\r\n\r\n"),
            ResponseLength::UntilClose | ResponseLength::None => out.extend_from_slice(b"\r\n\r\n"),
        }
    }
}

// Given the parts and not the head: that stays in registers, since nobody needs its address.
#[inline(never)]
fn encode_start_with_fields(
    status: StatusCode,
    reason: Option<&HeaderValue>,
    date: &Date,
    fields: &HeaderMap,
    out: &mut Vec<u8>,
) -> SeenFields {
    encode_status_line(status, reason, out);
    let seen = encode_fields(fields, out);
    if !seen.date {
        out.extend_from_slice(date.line());
    }
    seen
}

#[inline(never)]
fn encode_status_line(status: StatusCode, reason: Option<&HeaderValue>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(match reason {
        Some(reason) => reason.as_bytes(),
        None => status.canonical_reason().unwrap_or_default().as_bytes(),
    });
}

/// The Content-Length line and the head's end. Up to three digits, as most lengths have, come with what stands around them in
/// one piece.
#[inline(always)]
fn encode_content_length(length: u64, out: &mut Vec<u8>) {
    match length {
        0..=9 => encode_digits(length, *b"\r\ncontent-length: 0\r\n\r\n", out),
        10..=99 => encode_digits(length, *b"\r\ncontent-length: 00\r\n\r\n", out),
        100..=999 => encode_digits(length, *b"\r\ncontent-length: 000\r\n\r\n", out),
        _ => encode_large_content_length(length, out),
    }
}

/// Adds `number` in place of the zeros before the end of `template`.
#[inline(always)]
fn encode_digits<const BYTES: usize>(mut number: u64, mut template: [u8; BYTES], out: &mut Vec<u8>) {
    for digit in template.iter_mut().rev().skip("\r\n\r\n".len()).take_while(|digit| **digit == b'0') {
        *digit += (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&template);
}

#[inline(never)]
fn encode_large_content_length(length: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\ncontent-length: ");
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

fn encode_fields(fields: &HeaderMap, out: &mut Vec<u8>) -> SeenFields {
    let mut seen = SeenFields::default();
    for (name, value) in fields.iter().filter(|(name, _)| !is_servers_own(name)) {
        seen.note(name);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
    }
    seen
}

/// Fields of the user's that keep the server from writing its own.
#[derive(Default)]
struct SeenFields {
    date: bool,
    content_type: bool,
    upgrade: bool,
}

impl SeenFields {
    fn note(&mut self, name: &HeaderName) {
        self.date |= name == header::DATE;
        self.content_type |= name == header::CONTENT_TYPE;
        self.upgrade |= name == header::UPGRADE;
    }
}

fn is_servers_own(name: &HeaderName) -> bool {
    name == header::CONTENT_LENGTH
        || name == header::TRANSFER_ENCODING
        || name == header::CONNECTION
        || name.as_str() == "keep-alive"
}
