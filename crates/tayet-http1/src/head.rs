//! A request's head.

use std::fmt;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};

use crate::Refusal;
use crate::field::{Field, Span, is_name, list_elements};
use crate::framing::{BodyLength, Framing};
use crate::request_line::RequestLine;
use crate::short_text::is_same_text;

/// The room that [`Head::clear`] keeps for the bytes of the next head.
const RETAINED_BYTES: usize = 16 * 1024;

/// The room that [`Head::clear`] keeps for the fields of the next head: what a vector of 100 has grown to.
const RETAINED_FIELDS: usize = 128;

/// What the line of Host mostly begins with, in whatever case.
const HOST_START: &[u8] = b"host: ";

const LINE_END: &[u8] = b"\r\n";

/// A request's head: the request line and the fields, as received.
///
/// It owns its bytes and is made to be used again: once its buffers have grown, the next request needs no
/// allocation. A new one is empty, and its accessors say little until [`Connection::receive_head`] has filled
/// it.
///
/// [`Connection::receive_head`]: crate::Connection::receive_head
#[derive(Clone, Default)]
pub struct Head {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    line: RequestLine,
    host: Option<Span>,
    /// Where the line of Host lies, if it was a [leading](Self::take_leading_host) one.
    host_line: Span,
    /// Where that lay in the head before this one, whose bytes are in `bytes` while this one is read.
    last_host_line: Span,
    framing: Framing,
    connection: ConnectionOptions,
    expects_continue: bool,
}

/// The connection options that concern the server (RFC 9110 section 7.6.1).
#[derive(Copy, Clone, Default)]
struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
}

impl Head {
    /// Makes it empty. Buffers are kept, up to 16 KiB of bytes and 128 fields.
    pub fn clear(&mut self) {
        self.begin();
        self.bytes.clear();
        self.line = RequestLine::default();
        self.last_host_line = Span::default();
    }

    /// Makes it empty but for the request line and the bytes, which the next ones replace.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.host = None;
        self.last_host_line = std::mem::take(&mut self.host_line);
        self.fields.clear();
        if self.bytes.capacity() > RETAINED_BYTES {
            self.bytes = Vec::new();
        }
        if self.fields.capacity() > RETAINED_FIELDS {
            self.fields = Vec::new();
        }
        self.framing = Framing::default();
        self.connection = ConnectionOptions::default();
        self.expects_continue = false;
    }

    /// The method, which may be any token.
    #[inline]
    pub fn method(&self) -> &Method {
        &self.line.method
    }

    /// [`Version::HTTP_10`] or [`Version::HTTP_11`].
    #[inline]
    pub fn version(&self) -> Version {
        self.line.version
    }

    /// The request target as received (RFC 9112 section 3.2).
    pub fn target(&self) -> &str {
        self.text(self.line.target.whole)
    }

    /// The target's path, not decoded: `*` for `OPTIONS *`, empty for CONNECT, `/` for an absolute-form
    /// without one.
    #[inline]
    pub fn path(&self) -> &str {
        match self.path_bytes() {
            b"/" => "/",
            _ => self.text(self.line.target.path),
        }
    }

    /// The bytes of [`path`](Self::path), for who compares them: a text costs a check.
    #[inline]
    pub fn path_bytes(&self) -> &[u8] {
        let path = self.line.target.path;
        if path.is_empty() && self.line.method != Method::CONNECT { b"/" } else { path.of(&self.bytes) }
    }

    /// What follows the target's `?`, not decoded.
    #[inline]
    pub fn query(&self) -> Option<&str> {
        self.line.target.query().map(|query| self.text(query))
    }

    /// `host[:port]`: the target's where it has one (RFC 9112 section 3.2.2), else Host's. `None` where Host
    /// is empty or, in HTTP/1.0, missing.
    pub fn authority(&self) -> Option<&str> {
        let of_target = self.line.target.authority;
        let authority = if of_target.is_empty() { self.host.unwrap_or_default() } else { of_target };
        (!authority.is_empty()).then(|| self.text(authority))
    }

    /// The fields in order: names as received, values without whitespace around them.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|field| (self.text(field.name), field.value.of(&self.bytes)))
    }

    /// The first value of a field. Case makes no difference.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// The values of a field in order. Case makes no difference.
    pub fn get_all<'h>(&'h self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        let is_wanted =
            move |field: &&Field| field.name.of(&self.bytes).eq_ignore_ascii_case(name.as_bytes());
        self.fields.iter().filter(is_wanted).map(|field| field.value.of(&self.bytes))
    }

    /// The fields as a map. It is built anew with each call; its values share one copy of the head's bytes.
    pub fn header_map(&self) -> HeaderMap {
        let bytes = Bytes::copy_from_slice(&self.bytes);
        let mut map = HeaderMap::with_capacity(self.fields.len());
        for field in &self.fields {
            let name = HeaderName::from_bytes(field.name.of(&bytes)).expect("names are checked to be tokens");
            let value = HeaderValue::from_maybe_shared(bytes.slice(field.value.range()));
            map.append(name, value.expect("values are checked to have no control bytes"));
        }
        map
    }

    /// How the body is delimited (RFC 9112 section 6.3).
    #[inline]
    pub fn body_length(&self) -> BodyLength {
        self.framing.body_length()
    }

    /// Whether the connection may go on after this request (RFC 9112 section 9.3): `close` wins over
    /// `keep-alive`, which only HTTP/1.0 needs.
    #[inline]
    pub fn is_persistent(&self) -> bool {
        !self.connection.close && (self.line.version == Version::HTTP_11 || self.connection.keep_alive)
    }

    /// Whether the client waits for [`CONTINUE`](crate::CONTINUE) before it sends its body (RFC 9110 section
    /// 10.1.1). False without a body, and for HTTP/1.0, where the expectation doesn't count.
    #[inline]
    pub fn expects_continue(&self) -> bool {
        self.expects_continue && self.body_length() != BodyLength::None
    }

    /// Whether Connection lists `option`, for instance `upgrade` (RFC 9110 section 7.6.1). Case makes no
    /// difference.
    pub fn has_connection_option(&self, option: &str) -> bool {
        self.get_all("connection")
            .flat_map(list_elements)
            .any(|element| element.eq_ignore_ascii_case(option.as_bytes()))
    }

    /// All parts that a text is asked of have been checked to be ASCII.
    #[inline]
    fn text(&self, span: Span) -> &str {
        std::str::from_utf8(span.of(&self.bytes)).expect("checked to be ASCII")
    }
}

/// Filling, while the bytes are still somewhere else.
impl Head {
    #[inline]
    pub(crate) fn request_line_mut(&mut self) -> &mut RequestLine {
        &mut self.line
    }

    #[inline]
    pub(crate) fn field_count(&self) -> usize {
        self.fields.len()
    }

    /// Takes the first field, which begins at `start` of `bytes`, if it is a Host that is written as usual, and
    /// gives where its line ends. Clients should put Host there (RFC 9110 section 7.2), and most do: so it is
    /// read in one go. `None`: nothing is taken.
    #[inline(always)]
    pub(crate) fn take_leading_host(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let rest = bytes.get(start..)?;
        let length = match self.repeated_host_line_length(rest) {
            Some(length) => length,
            None => host_line_length(rest)?,
        };
        let line = Span::new(start..start + length);
        let value = Span::new(start + HOST_START.len()..start + length - LINE_END.len());
        self.host = Some(value);
        self.host_line = line;
        self.fields.push(Field { name: Span::new(start..start + "host".len()), value });
        Some(start + length)
    }

    /// The length of the line that `bytes` begin with, if it is the last head's Host, which has been checked: mostly it is.
    #[inline(always)]
    fn repeated_host_line_length(&self, bytes: &[u8]) -> Option<usize> {
        let last = self.bytes.get(self.last_host_line.range())?;
        let is_repeated = !last.is_empty() && is_same_text(bytes.get(..last.len())?, last);
        is_repeated.then_some(last.len())
    }

    /// Adds a field and heeds it, if it is one of those that delimit messages.
    #[inline(always)]
    pub(crate) fn add_field(&mut self, name: &[u8], value: &[u8], field: Field) -> Result<(), Refusal> {
        match name.len() {
            4 if is_name(name, b"host") => self.add_host(value, field.value)?,
            6 if is_name(name, b"expect") => self.add_expectations(value)?,
            10 if is_name(name, b"connection") => self.add_connection_options(value),
            14 if is_name(name, b"content-length") => self.framing.add_content_length(value)?,
            17 if is_name(name, b"transfer-encoding") => {
                self.framing.add_transfer_encoding(value, self.line.version)?;
            }
            _ => {}
        }
        self.fields.push(field);
        Ok(())
    }

    /// Checks what only the whole head can tell.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.host.is_none() && self.line.version == Version::HTTP_11 {
            return Err(Refusal::MissingHost);
        }
        self.framing.check()
    }

    /// Gives the head the bytes that its parts lie in.
    #[inline]
    pub(crate) fn set_bytes(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn add_host(&mut self, value: &[u8], span: Span) -> Result<(), Refusal> {
        if self.host.is_some() {
            return Err(Refusal::DuplicateHost);
        }
        if !value.is_empty() && crate::authority::check(value).is_none() {
            return Err(Refusal::MalformedHost);
        }
        self.host = Some(span);
        Ok(())
    }

    #[inline(never)]
    fn add_connection_options(&mut self, value: &[u8]) {
        // As most clients write it.
        if value == b"keep-alive" {
            self.connection.keep_alive = true;
            return;
        }
        for option in list_elements(value) {
            self.connection.close |= option.eq_ignore_ascii_case(b"close");
            self.connection.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// HTTP/1.0 has no expectations (RFC 9110 section 10.1.1): there the field means nothing.
    #[inline(never)]
    fn add_expectations(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.line.version == Version::HTTP_10 {
            return Ok(());
        }
        for expectation in list_elements(value).filter(|element| !element.is_empty()) {
            if !expectation.eq_ignore_ascii_case(b"100-continue") {
                return Err(Refusal::UnknownExpectation);
            }
            self.expects_continue = true;
        }
        Ok(())
    }
}

/// The length of the Host line that `bytes` begin with, if it is written as usual.
#[inline(never)]
fn host_line_length(bytes: &[u8]) -> Option<usize> {
    let (start, value) = bytes.split_first_chunk::<{ HOST_START.len() }>()?;
    if !start.eq_ignore_ascii_case(HOST_START) {
        return None;
    }
    let length = crate::authority::read(value)?.0;
    value[length..].starts_with(LINE_END).then_some(HOST_START.len() + length + LINE_END.len())
}

impl fmt::Debug for Head {
    /// Without the fields' values, since credentials are among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("method", &self.line.method)
            .field("target", &self.target())
            .field("version", &self.line.version)
            .field("fields", &self.fields().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connection, HeadLimits};

    fn receive(head: &mut Head, message: &[u8]) {
        let limits =
            HeadLimits { max_head_bytes: usize::MAX, max_headers: usize::MAX, ..HeadLimits::default() };
        assert_eq!(Connection::new().receive_head(&mut &message[..], head, &limits), Ok(true));
    }

    #[test]
    fn a_leading_host_means_what_any_other_does() {
        let meaning = |fields: &str, limits: &HeadLimits| {
            let mut head = Head::default();
            let message = format!("GET / HTTP/1.1\r\n{fields}\r\n");
            Connection::new().receive_head(&mut message.as_bytes(), &mut head, limits)?;
            let field = head.fields().last().map(|(name, value)| (name.to_owned(), value.to_vec()));
            Ok::<_, Refusal>((field, head.authority().map(str::to_owned)))
        };
        for name in ["Host", "hOST", "Hos", "Hosts", "Most", "X"] {
            for separator in [": ", ":", ":  ", ":\t", " : "] {
                for value in
                    ["a", "a.b-c:80", "a:", "a:65536", ":80", "[::1]:80", "a%41", "%4", "a b", "a ", ""]
                {
                    let line = format!("{name}{separator}{value}\r\n");
                    let first = meaning(&line, &HeadLimits::default());
                    assert_eq!(first, meaning(&format!("Y: z\r\n{line}"), &HeadLimits::default()), "{line}");
                }
            }
        }
        let limits = HeadLimits { max_headers: 0, ..HeadLimits::default() };
        assert_eq!(meaning("Host: a\r\n", &limits), Err(Refusal::TooManyHeaders));
    }

    #[test]
    fn a_host_is_checked_whatever_the_last_one_was() {
        const HOSTS: [&str; 8] = ["a", "ab", "a:8", "a:80", "a:99999", "", "b", "a b"];
        let limits = HeadLimits::default();
        let receive = |head: &mut Head, host: &str, path: &str| {
            let message = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            Connection::new().receive_head(&mut message.as_bytes(), head, &limits)?;
            Ok::<_, Refusal>((head.authority().map(str::to_owned), head.get("host").map(<[u8]>::to_vec)))
        };
        for last in HOSTS {
            for next in HOSTS {
                let alone = receive(&mut Head::default(), next, "/");
                let mut head = Head::default();
                let _ = receive(&mut head, last, "/where/it/is/makes/no/difference");
                assert_eq!(receive(&mut head, next, "/"), alone, "{next:?} behind {last:?}");
                assert_eq!(receive(&mut head, next, "/"), alone, "{next:?} again");
            }
        }
    }

    #[test]
    fn the_next_request_finds_the_buffers_of_the_last() {
        let mut head = Head::default();
        receive(&mut head, b"GET /long/path HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n");
        let buffers = |head: &Head| (head.bytes.as_ptr(), head.fields.as_ptr());
        let before = buffers(&head);
        receive(&mut head, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(buffers(&head), before);
    }

    #[test]
    fn buffers_that_have_grown_large_are_given_back() {
        let mut head = Head::default();
        let fields = "X: y\r\n".repeat(RETAINED_BYTES / "X: y\r\n".len());
        receive(&mut head, format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").as_bytes());
        assert!(head.bytes.capacity() > RETAINED_BYTES && head.fields.capacity() > RETAINED_FIELDS);
        head.clear();
        assert_eq!((head.bytes.capacity(), head.fields.capacity()), (0, 0));
    }

    #[test]
    fn buffers_up_to_the_limit_are_kept() {
        let mut head =
            Head { bytes: Vec::with_capacity(16_384), fields: Vec::with_capacity(128), ..Head::default() };
        head.clear();
        assert_eq!((head.bytes.capacity(), head.fields.capacity()), (16_384, 128));
    }
}
