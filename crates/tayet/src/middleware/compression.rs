//! Compressing what is answered.

mod compressible;
mod encoder;
mod kept_encoder;

use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use self::encoder::EncodingWriter;
use super::{Middleware, Next, amend};
use crate::{AcceptEncoding, Body, BodyWriter, ContentCoding, Request, Response};

/// Content of fewer bytes is sent as it is: with its framing it would hardly become smaller.
pub const DEFAULT_MIN_COMPRESSED_BYTES: u64 = 1024;
/// Content of more bytes is compressed on a worker while it is sent.
pub const DEFAULT_MAX_INLINE_COMPRESSED_BYTES: u64 = 64 * 1024;

/// Compresses what the handlers inside of it answer, as the client's `Accept-Encoding` prefers it (RFC 9110 section 12.5.3).
///
/// Compressed is what is worth it: text, JSON and the like of [`DEFAULT_MIN_COMPRESSED_BYTES`] or more, or of unknown length.
/// What is large, or written while it is sent, is compressed while it is sent, on the worker that sends it; flushing the
/// writer sends what it has written, so server-sent events come at once. A client that accepts nothing that there is gets
/// the content as it is, and never a 406.
///
/// Left alone is what has a `Content-Encoding`, is a part (206, `Content-Range`), has a digest, or says `Cache-Control:
/// no-transform`. What is compressed gets a `Vary`, loses its `Accept-Ranges`, and its `ETag` becomes a weak one, since the
/// bytes are not the same.
///
/// An answer that is given later, by a [`Responder`](crate::Responder), does not come back through middleware: it is sent as it
/// is.
///
/// Over TLS, the length of a compressed page that repeats what was asked beside a secret tells about the secret (the BREACH
/// attack): answer such a page with `no-transform`, or leave it outside.
///
/// ```
/// use tayet::{Compression, ContentCoding, Router};
///
/// let compression = Compression::new().codings([ContentCoding::Brotli, ContentCoding::Gzip]).level(ContentCoding::Gzip, 9);
/// let app: Router = Router::new().get("/", || "warp and weft ".repeat(1000)).layer(compression);
///
/// let client = tayet::testing::TestClient::new(app);
/// let response = client.get("/").header("Accept-Encoding", "gzip, deflate").send();
/// assert_eq!(response.header("content-encoding"), Some("gzip"));
/// assert_eq!(response.header("vary"), Some("accept-encoding"));
/// assert!(response.bytes().len() < 200);
/// ```
#[derive(Clone)]
pub struct Compression {
    codings: Vec<ContentCoding>,
    /// In the order of [`ContentCoding::ALL`].
    levels: [u32; ContentCoding::ALL.len()],
    min_bytes: u64,
    max_inline_bytes: u64,
    is_worth_it: Arc<dyn Fn(&Response) -> bool + Send + Sync>,
}

impl Compression {
    /// All codings; of those that a client likes as well, the first of zstd, br, gzip and deflate. Levels are such that
    /// compressing costs about as much as sending: gzip and deflate 5, br 4, zstd 3.
    pub fn new() -> Self {
        Self {
            codings: vec![
                ContentCoding::Zstd,
                ContentCoding::Brotli,
                ContentCoding::Gzip,
                ContentCoding::Deflate,
            ],
            levels: ContentCoding::ALL.map(default_level),
            min_bytes: DEFAULT_MIN_COMPRESSED_BYTES,
            max_inline_bytes: DEFAULT_MAX_INLINE_COMPRESSED_BYTES,
            is_worth_it: Arc::new(is_of_compressible_type),
        }
    }

    /// Offers these, the one that is preferred first.
    #[must_use]
    pub fn codings(mut self, codings: impl IntoIterator<Item = ContentCoding>) -> Self {
        self.codings = codings.into_iter().collect();
        self
    }

    /// How much work is put into a coding: gzip and deflate 1 to 9, br 0 to 11, zstd 1 to 19.
    ///
    /// # Panics
    ///
    /// When the coding has no such level.
    #[track_caller]
    #[must_use]
    pub fn level(mut self, coding: ContentCoding, level: u32) -> Self {
        let levels = levels_of(coding);
        assert!(levels.contains(&level), "{coding} has no level {level}, only {levels:?}");
        self.levels[coding as usize] = level;
        self
    }

    /// Leaves content of fewer bytes alone. Default: [`DEFAULT_MIN_COMPRESSED_BYTES`].
    #[must_use]
    pub fn min_bytes(mut self, min_bytes: u64) -> Self {
        self.min_bytes = min_bytes;
        self
    }

    /// Compresses content of more bytes on a worker while it is sent, so that no event loop waits for it; its length is then
    /// not known before. Default: [`DEFAULT_MAX_INLINE_COMPRESSED_BYTES`].
    #[must_use]
    pub fn max_inline_bytes(mut self, max_inline_bytes: u64) -> Self {
        self.max_inline_bytes = max_inline_bytes;
        self
    }

    /// Compresses responses for which `is_worth_it` says so. Default: by the content type, which must be that of text or of
    /// something like it.
    #[must_use]
    pub fn compress_if(mut self, is_worth_it: impl Fn(&Response) -> bool + Send + Sync + 'static) -> Self {
        self.is_worth_it = Arc::new(is_worth_it);
        self
    }

    fn is_worth_it(&self, response: &Response) -> bool {
        response.body().length().is_none_or(|length| length >= self.min_bytes) && (self.is_worth_it)(response)
    }

    fn encode(&self, asked: &Asked, response: &mut Response) {
        if response.status() == StatusCode::NOT_MODIFIED {
            keep_weak(&asked.known_tags, response);
            return;
        }
        let accepted = &asked.accepted;
        let is_wanted = self.is_worth_it(response) || !accepted.allows_identity();
        if !is_wanted || !may_be_encoded(response) {
            return;
        }
        add_vary(response.headers_mut());
        if let Some(coding) = accepted.preferred(&self.codings) {
            self.compress(response, coding, accepted.allows_identity());
        }
    }

    fn compress(&self, response: &mut Response, coding: ContentCoding, must_shrink: bool) {
        let level = self.levels[coding as usize];
        let body = match response.body().as_bytes() {
            Some(bytes) if bytes.len() as u64 <= self.max_inline_bytes => {
                match encoder::encode(coding, level, bytes) {
                    Ok(encoded) if encoded.len() < bytes.len() || !must_shrink => encoded.into(),
                    Ok(_) => return,
                    Err(error) => {
                        tracing::error!(%error, %coding, "a response could not be compressed");
                        return;
                    }
                }
            }
            _ => {
                let body = response.body_mut().take();
                Body::from_writer(move |out| write_encoded(body, coding, level, out))
            }
        };
        *response.body_mut() = body;
        describe(response.headers_mut(), coding);
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware for Compression {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        let mut response = next.run(request);
        let asked = Asked::of(request);
        amend(self, request, &mut response, move |compression, response| {
            compression.encode(&asked, response)
        });
        response
    }
}

/// What a request says of the encoding of its answer.
struct Asked {
    accepted: AcceptEncoding,
    /// The fields `If-None-Match`.
    known_tags: Vec<String>,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let known_tags = request.header_all(header::IF_NONE_MATCH.as_str()).map(str::to_owned).collect();
        Self { accepted: AcceptEncoding::of(request), known_tags }
    }
}

fn write_encoded(body: Body, coding: ContentCoding, level: u32, out: &mut BodyWriter<'_>) -> io::Result<()> {
    let mut encoding = EncodingWriter::new(coding, level, body.length(), out)?;
    let trailers = body.write_to(&mut encoding)?;
    encoding.finish()?;
    if let Some(trailers) = trailers {
        *out.trailers_mut() = *trailers;
    }
    Ok(())
}

fn default_level(coding: ContentCoding) -> u32 {
    match coding {
        ContentCoding::Gzip | ContentCoding::Deflate => 5,
        ContentCoding::Brotli => 4,
        ContentCoding::Zstd => 3,
    }
}

fn levels_of(coding: ContentCoding) -> RangeInclusive<u32> {
    match coding {
        ContentCoding::Gzip | ContentCoding::Deflate => 1..=9,
        ContentCoding::Brotli => 0..=11,
        ContentCoding::Zstd => 1..=19,
    }
}

fn is_of_compressible_type(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.and_then(|value| value.to_str().ok()).is_some_and(compressible::is_compressible)
}

/// Whether it is a whole representation, as its handler made it, that nobody has forbidden to change.
fn may_be_encoded(response: &Response) -> bool {
    const EXCLUDING: [&str; 6] =
        ["content-encoding", "content-range", "content-digest", "repr-digest", "digest", "content-md5"];
    let status = response.status();
    let has_content = !status.is_informational()
        && status != StatusCode::NO_CONTENT
        && status != StatusCode::RESET_CONTENT
        && response.body().length() != Some(0)
        && !response.body().is_session();
    let headers = response.headers();
    has_content
        && status != StatusCode::PARTIAL_CONTENT
        && !EXCLUDING.iter().any(|name| headers.contains_key(*name))
        && !has_member(headers, header::CACHE_CONTROL, "no-transform")
}

/// Says what the content now is.
fn describe(headers: &mut HeaderMap, coding: ContentCoding) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::ACCEPT_RANGES);
    weaken(headers);
}

fn add_vary(headers: &mut HeaderMap) {
    let is_said =
        has_member(headers, header::VARY, "*") || has_member(headers, header::VARY, "accept-encoding");
    if !is_said {
        headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Makes a strong entity tag a weak one (RFC 9110 section 8.8.1): another coding is other bytes.
fn weaken(headers: &mut HeaderMap) {
    let Some(strong) = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\"")) else {
        return;
    };
    if let Ok(weak) = HeaderValue::from_bytes(&[b"W/", strong.as_bytes()].concat()) {
        headers.insert(header::ETAG, weak);
    }
}

/// A 304 has the entity tag that the 200 had (RFC 9110 section 15.4.5); whether that was weak the client has just said.
fn keep_weak(known_tags: &[String], response: &mut Response) {
    let Some(tag) = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return };
    let weak = format!("W/{tag}");
    let is_known_as_weak =
        known_tags.iter().flat_map(|value| value.split(',')).any(|known| known.trim() == weak);
    if is_known_as_weak {
        weaken(response.headers_mut());
        add_vary(response.headers_mut());
    }
}

/// Whether a field that is a list has this member.
fn has_member(headers: &HeaderMap, name: header::HeaderName, member: &str) -> bool {
    headers.get_all(name).iter().any(|value| {
        value
            .as_bytes()
            .split(|&byte| byte == b',')
            .any(|part| part.trim_ascii().eq_ignore_ascii_case(member.as_bytes()))
    })
}

impl fmt::Debug for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compression")
            .field("codings", &self.codings)
            .field("levels", &self.levels)
            .field("min_bytes", &self.min_bytes)
            .field("max_inline_bytes", &self.max_inline_bytes)
            .finish_non_exhaustive()
    }
}
