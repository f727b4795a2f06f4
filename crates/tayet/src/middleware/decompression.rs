//! Reading what was sent compressed.

mod decoder;

use http::{HeaderValue, StatusCode, header};

use self::decoder::Decoder;
use super::{Middleware, Next};
use crate::{ContentCoding, IntoResponse, Problem, Request, Response};

/// Bytes that a compressed body may have when it is decoded, unless another limit is set.
pub const DEFAULT_MAX_INFLATED_BYTES: u64 = 64 * 1024 * 1024;

/// Decodes the bodies of requests that have a `Content-Encoding` (RFC 9110 section 8.4), so that handlers read them as any
/// other: whole or as a stream.
///
/// Without it a handler gets such a body as it was sent. A few bytes can decode to gigabytes, so decoded bytes are limited:
/// past [`max_inflated_bytes`](Self::max_inflated_bytes), and for handlers that take a whole body past `max_body_bytes`, the
/// answer is 413. A broken body is a 400, a coding that is not known (or more than one) a 415 that names those that are, in
/// `Accept-Encoding`. Trailer fields of a decoded body are not there.
///
/// ```
/// use tayet::{Decompression, Router};
///
/// let app: Router = Router::new()
///     .post("/length", |text: String| text.len().to_string())
///     .layer(Decompression::new().max_inflated_bytes(1 << 20));
///
/// let client = tayet::testing::TestClient::new(app);
/// let hello = b"\x0b\x02\x80Hello\x03".to_vec();
/// assert_eq!(client.post("/length").header("Content-Encoding", "br").body(hello).send().text(), "5");
/// assert_eq!(client.post("/length").header("Content-Encoding", "lzma").body("x").send().status(), 415);
/// assert_eq!(client.post("/length").header("Content-Encoding", "br").body("Hello").send().status(), 400);
/// ```
#[derive(Clone, Debug)]
pub struct Decompression {
    codings: Vec<ContentCoding>,
    max_inflated_bytes: u64,
}

/// What a request says of its body.
#[derive(Debug, PartialEq, Eq)]
enum Encoded {
    No,
    By(ContentCoding),
    Otherwise,
}

impl Decompression {
    /// Decodes all codings, up to [`DEFAULT_MAX_INFLATED_BYTES`].
    pub fn new() -> Self {
        Self { codings: ContentCoding::ALL.to_vec(), max_inflated_bytes: DEFAULT_MAX_INFLATED_BYTES }
    }

    /// Decodes these codings.
    #[must_use]
    pub fn codings(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.codings = codings.into_iter().collect();
        self
    }

    /// Decodes to at most so many bytes (413).
    #[must_use]
    pub fn max_inflated_bytes(mut self, max_inflated_bytes: u64) -> Self {
        self.max_inflated_bytes = max_inflated_bytes;
        self
    }

    fn encoded(&self, request: &Request) -> Encoded {
        if request.content_length() == Some(0) {
            return Encoded::No;
        }
        let fields = request.header_all(header::CONTENT_ENCODING.as_str());
        let mut names = fields
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
        let Some(name) = names.next() else { return Encoded::No };
        // A second coding would be decoded before the limit on what comes of the first.
        match ContentCoding::from_name(name).filter(|coding| self.codings.contains(coding)) {
            Some(coding) if names.next().is_none() => Encoded::By(coding),
            _ => Encoded::Otherwise,
        }
    }

    fn decode(&self, request: &mut Request, coding: ContentCoding) -> std::io::Result<()> {
        let decoder = Decoder::new(coding, request.take_body())?;
        request.set_body_reader(decoder);
        request.stream().set_max_bytes(self.max_inflated_bytes);
        let headers = request.headers_mut();
        headers.remove(header::CONTENT_ENCODING);
        headers.remove(header::CONTENT_LENGTH);
        Ok(())
    }

    fn refuse(&self) -> Response {
        let names = self.codings.iter().map(|coding| coding.name()).collect::<Vec<_>>().join(", ");
        let detail = format!("the body's Content-Encoding must be one of: {names}");
        let mut response =
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE).with_detail(detail).into_response();
        let accepted = HeaderValue::try_from(names).expect("names of codings are tokens");
        response.headers_mut().insert(header::ACCEPT_ENCODING, accepted);
        response
    }
}

impl Default for Decompression {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware for Decompression {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        match self.encoded(request) {
            Encoded::No => {}
            Encoded::Otherwise => return self.refuse(),
            Encoded::By(coding) => {
                if let Err(error) = self.decode(request, coding) {
                    return crate::Error::from(error).into_response();
                }
            }
        }
        next.run(request)
    }
}
