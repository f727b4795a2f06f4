//! From a response to bytes: one place for the loops and the workers.

use std::collections::VecDeque;

use bytes::Bytes;
use http::{Method, StatusCode, Version, header};
use tayet_http1::{Date, Head, ResponseHead, ResponseLength, encode_ok};
use tayet_net::Outgoing;

use crate::body::{Kind, Write};
use crate::{BodyPart, Response, problem};

/// Bodies up to this size are copied behind their head, so that one plain send takes both; larger ones are sent from
/// where they lie.
pub(crate) const MAX_COPIED_BODY_BYTES: usize = 16 * 1024;

/// What of a request decides the form of its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) version: Version,
    pub(crate) is_head: bool,
    /// The request, and the server's state, allow another one behind it.
    pub(crate) keep_alive: bool,
}

impl Asked {
    pub(crate) fn of(head: &Head, keep_alive: bool) -> Self {
        Self {
            version: head.version(),
            is_head: head.method() == Method::HEAD,
            keep_alive: keep_alive && head.is_persistent(),
        }
    }
}

/// What is left to do once the head is encoded.
pub(crate) enum Encoded {
    /// Everything is in the buffer.
    Whole { keep_alive: bool },
    /// These bytes follow.
    Tail { tail: Bytes, keep_alive: bool },
    /// These follow, by a worker.
    Parts { parts: VecDeque<BodyPart>, keep_alive: bool },
    /// A writer makes the rest.
    Written { write: Write, framing: BodyFraming, keep_alive: bool },
    /// A session follows; its bytes are delimited so.
    Session { framing: BodyFraming },
}

impl Encoded {
    /// Whether what follows is sent in chunks.
    pub(crate) fn is_chunked(&self) -> bool {
        matches!(
            self,
            Self::Written { framing: BodyFraming::Chunked, .. }
                | Self::Session { framing: BodyFraming::Chunked }
        )
    }
}

/// How a written body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Sized(u64),
    Chunked,
    UntilClose,
}

impl BodyFraming {
    /// How many bytes its writer must write, if that is said.
    pub(crate) fn length(self) -> Option<u64> {
        match self {
            Self::Sized(length) => Some(length),
            Self::Chunked | Self::UntilClose => None,
        }
    }
}

/// An answer on its way: what was not sent yet.
#[derive(Debug)]
pub(crate) struct Unsent {
    pub(crate) outgoing: Outgoing,
    pub(crate) keep_alive: bool,
}

/// Appends the response to `out`, as far as it is there.
// Inlined always, since whoever calls it then sees that most answers are all in the buffer.
#[inline(always)]
pub(crate) fn encode(response: &mut Response, asked: Asked, date: &Date, out: &mut Vec<u8>) -> Encoded {
    let Asked { version, is_head, keep_alive } = asked;
    if keep_alive
        && !is_head
        && version == Version::HTTP_11
        && let Some((content_type, body)) = response.as_plain()
        && body.len() <= MAX_COPIED_BODY_BYTES
    {
        encode_ok(content_type, body, date, out);
        return Encoded::Whole { keep_alive };
    }
    encode_any(response, asked, date, out)
}

/// The same for answers that are not as most are.
#[inline(never)]
fn encode_any(response: &mut Response, asked: Asked, date: &Date, out: &mut Vec<u8>) -> Encoded {
    if response.status().is_informational() && !response.body().is_session() {
        replace_interim(response);
    }
    let length = length_of(response, asked.version);
    let keep_alive = asked.keep_alive && length != ResponseLength::UntilClose && !wants_close(response);
    let (fields, content_type) = response.fields();
    let (status, request_version) = (response.status(), asked.version);
    let reason = response.reason_phrase();
    ResponseHead { status, reason, request_version, keep_alive, length, content_type, fields, date }
        .encode(out);
    if asked.is_head || length == ResponseLength::None {
        return Encoded::Whole { keep_alive };
    }
    if let Some(bytes) = response.body().as_bytes()
        && bytes.len() <= MAX_COPIED_BODY_BYTES
    {
        out.extend_from_slice(bytes);
        return Encoded::Whole { keep_alive };
    }
    match &mut response.body_mut().0 {
        Kind::Empty => Encoded::Whole { keep_alive },
        Kind::Bytes(bytes) => Encoded::Tail { tail: std::mem::take(bytes), keep_alive },
        Kind::Static(bytes) => Encoded::Tail { tail: Bytes::from_static(bytes), keep_alive },
        Kind::Session(_) => Encoded::Session { framing: framing_of(length) },
        Kind::Parts(parts) => Encoded::Parts { parts: std::mem::take(parts), keep_alive },
        Kind::Written { .. } => {
            encode_written(std::mem::take(&mut response.body_mut().0), framing_of(length), keep_alive)
        }
    }
}

#[cold]
fn replace_interim(response: &mut Response) {
    tracing::error!(status = %response.status(), "a handler answered with an interim status");
    *response = problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", None);
}

fn length_of(response: &Response, version: Version) -> ResponseLength {
    if has_no_body(response.status()) {
        return ResponseLength::None;
    }
    match response.body().length() {
        Some(length) => ResponseLength::Fixed(length),
        None => ResponseLength::of_stream(version),
    }
}

fn encode_written(body: Kind, framing: BodyFraming, keep_alive: bool) -> Encoded {
    match body {
        Kind::Written { write, .. } => Encoded::Written { write, framing, keep_alive },
        _ => Encoded::Whole { keep_alive },
    }
}

fn framing_of(length: ResponseLength) -> BodyFraming {
    match length {
        ResponseLength::Fixed(length) => BodyFraming::Sized(length),
        ResponseLength::Chunked => BodyFraming::Chunked,
        ResponseLength::UntilClose | ResponseLength::None => BodyFraming::UntilClose,
    }
}

/// Whether this status has no body, whatever the handler gave (RFC 9110 section 6.4.1).
fn has_no_body(status: StatusCode) -> bool {
    matches!(status, StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

fn wants_close(response: &Response) -> bool {
    let Some(headers) = response.fields().0 else { return false };
    headers.get_all(header::CONNECTION).iter().any(|value| {
        value
            .as_bytes()
            .split(|&byte| byte == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use http::HeaderValue;

    use super::*;
    use crate::Body;

    const GET: Asked = Asked { version: Version::HTTP_11, is_head: false, keep_alive: true };

    fn encoded(mut response: Response, asked: Asked) -> (String, Encoded) {
        let mut out = Vec::new();
        let encoded = encode(&mut response, asked, &Date::from(SystemTime::UNIX_EPOCH), &mut out);
        (String::from_utf8(out).unwrap(), encoded)
    }

    #[test]
    fn a_small_body_is_one_piece_with_its_head() {
        let (text, rest) = encoded(Response::new("hi"), GET);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nhi"), "{text}");
        assert!(matches!(rest, Encoded::Whole { keep_alive: true }));
    }

    #[test]
    fn a_large_body_is_not_copied() {
        let (text, rest) = encoded(Response::new(vec![b'x'; MAX_COPIED_BODY_BYTES + 1]), GET);
        assert!(text.ends_with("\r\n\r\n"));
        assert!(matches!(rest, Encoded::Tail { tail, .. } if tail.len() == MAX_COPIED_BODY_BYTES + 1));
    }

    #[test]
    fn nor_are_large_static_bytes() {
        static LARGE: [u8; MAX_COPIED_BODY_BYTES + 1] = [b'x'; MAX_COPIED_BODY_BYTES + 1];
        let (text, rest) = encoded(Response::new(&LARGE[..]), GET);
        assert!(text.ends_with("\r\n\r\n"));
        assert!(matches!(rest, Encoded::Tail { tail, .. } if tail.as_ptr() == LARGE.as_ptr()));
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let (text, rest) = encoded(Response::new("hello"), Asked { is_head: true, ..GET });
        assert!(
            text.to_ascii_lowercase().contains("content-length: 5\r\n") && text.ends_with("\r\n\r\n"),
            "{text}"
        );
        assert!(matches!(rest, Encoded::Whole { keep_alive: true }));
    }

    #[test]
    fn a_304_has_neither_body_nor_length() {
        let (text, _) = encoded(Response::new("never").with_status(StatusCode::NOT_MODIFIED), GET);
        assert!(
            !text.to_ascii_lowercase().contains("content-length") && text.ends_with("\r\n\r\n"),
            "{text}"
        );
    }

    #[test]
    fn a_reason_phrase_may_be_the_handlers_own() {
        let reason = HeaderValue::from_static("Out Of Tea");
        let (text, _) = encoded(Response::new("no").with_reason_phrase(reason.clone()), GET);
        assert!(text.starts_with("HTTP/1.1 200 Out Of Tea\r\n"), "{text}");
        let pot = Response::empty(StatusCode::IM_A_TEAPOT).with_header("x-a", "1").with_reason_phrase(reason);
        let (text, _) = encoded(pot, GET);
        assert!(text.starts_with("HTTP/1.1 418 Out Of Tea\r\n"), "{text}");
    }

    #[test]
    fn an_interim_status_is_no_answer() {
        let (text, _) = encoded(Response::empty(StatusCode::PROCESSING), GET);
        assert!(text.starts_with("HTTP/1.1 500 "), "{text}");
    }

    #[test]
    fn a_written_body_is_chunked_or_ends_with_the_connection() {
        let written = || Response::new(Body::from_writer(|_| Ok(())));
        let (_, rest) = encoded(written(), GET);
        assert!(matches!(rest, Encoded::Written { framing: BodyFraming::Chunked, keep_alive: true, .. }));
        let (_, rest) = encoded(written(), Asked { version: Version::HTTP_10, ..GET });
        assert!(matches!(rest, Encoded::Written { framing: BodyFraming::UntilClose, keep_alive: false, .. }));
    }

    #[test]
    fn a_file_has_its_length_and_is_sent_by_a_worker() {
        let file = tempfile::tempfile().unwrap();
        let (text, rest) = encoded(Response::new(Body::from_file(file, 10..52)), GET);
        assert!(text.to_ascii_lowercase().contains("content-length: 42\r\n"), "{text}");
        assert!(matches!(rest, Encoded::Parts { parts, keep_alive: true } if parts.len() == 1));
    }

    #[test]
    fn a_handler_may_close_the_connection() {
        let (text, rest) = encoded(Response::new("bye").with_header("connection", "x, Close"), GET);
        assert!(text.to_ascii_lowercase().contains("connection: close\r\n"), "{text}");
        assert!(matches!(rest, Encoded::Whole { keep_alive: false }));
    }
}
