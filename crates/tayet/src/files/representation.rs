//! Answering with a file: whole, in part, or not at all.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::byte_ranges::ByteRanges;
use super::preconditions::{self, Verdict};
use super::validators::Validators;
use crate::{Body, BodyPart, IntoResponse, Problem, Request, Response};

/// What there is to say of a file beside its bytes.
#[derive(Clone, Debug)]
pub(super) struct Representation {
    pub(super) validators: Validators,
    pub(super) size_bytes: u64,
    /// The fields of a 200.
    pub(super) fields: HeaderMap,
}

/// Where the bytes of a file are.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Held(Bytes),
    Open(Arc<File>),
}

impl Representation {
    /// Adds the validators, and that there are ranges, to `fields`. What is there already is left.
    pub(super) fn new(validators: Validators, size_bytes: u64, mut fields: HeaderMap) -> Self {
        let modified = validators.last_modified.map(date_value);
        fields.entry(header::ETAG).or_insert(validators.etag.clone());
        if let Some(modified) = modified {
            fields.entry(header::LAST_MODIFIED).or_insert(modified);
        }
        fields.entry(header::ACCEPT_RANGES).or_insert(const { HeaderValue::from_static("bytes") });
        Self { validators, size_bytes, fields }
    }

    /// The answer to a `GET` or `HEAD` (RFC 9110 sections 13 and 14). `content` is asked for the bytes if there are any to send.
    pub(super) fn answer<E>(
        &self,
        request: &Request,
        content: impl FnOnce() -> Result<Content, E>,
    ) -> Result<Response, E> {
        match preconditions::evaluate(request, &self.validators) {
            Verdict::Failed => return Ok(Problem::new(StatusCode::PRECONDITION_FAILED).into_response()),
            Verdict::NotModified => return Ok(self.not_modified()),
            Verdict::Send => {}
        }
        match self.ranges(request) {
            ByteRanges::Whole => {
                let body = content()?.body(0..self.size_bytes);
                Ok(self.response(StatusCode::OK, body))
            }
            ByteRanges::Unsatisfiable => Ok(self.unsatisfiable()),
            ByteRanges::Parts(parts) => Ok(self.partial(parts, content()?)),
        }
    }

    fn ranges(&self, request: &Request) -> ByteRanges {
        match request.header("range") {
            Some(range) if *request.method() == Method::GET => {
                if preconditions::allows_range(request, &self.validators) {
                    ByteRanges::parse(range, self.size_bytes)
                } else {
                    ByteRanges::Whole
                }
            }
            _ => ByteRanges::Whole,
        }
    }

    fn response(&self, status: StatusCode, body: Body) -> Response {
        let mut response = Response::new(body).with_status(status);
        *response.headers_mut() = self.fields.clone();
        response
    }

    /// 304, with the fields that a cache may want to know anew (section 15.4.5).
    fn not_modified(&self) -> Response {
        let mut response = Response::empty(StatusCode::NOT_MODIFIED);
        let kept = [header::ETAG, header::LAST_MODIFIED, header::CACHE_CONTROL, header::VARY];
        let kept = kept.into_iter().filter_map(|name| Some((name.clone(), self.fields.get(name)?.clone())));
        response.headers_mut().extend(kept);
        response
    }

    fn unsatisfiable(&self) -> Response {
        let range = format!("bytes */{}", self.size_bytes);
        let response = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE).into_response();
        response.with_header(header::CONTENT_RANGE, range)
    }

    fn partial(&self, mut parts: Vec<Range<u64>>, content: Content) -> Response {
        if parts.len() == 1
            && let Some(part) = parts.pop()
        {
            let range = content_range(&part, self.size_bytes);
            let response = self.response(StatusCode::PARTIAL_CONTENT, content.body(part));
            return response.with_header(header::CONTENT_RANGE, range);
        }
        let multipart = Multipart::new(self, parts);
        let content_type = format!("multipart/byteranges; boundary={}", multipart.boundary);
        let response = self.response(StatusCode::PARTIAL_CONTENT, multipart.body(content));
        response.with_header(header::CONTENT_TYPE, content_type)
    }
}

impl Content {
    fn body(self, range: Range<u64>) -> Body {
        match self {
            Self::Held(bytes) => bytes.slice(range.start as usize..range.end as usize).into(),
            Self::Open(file) => Body::from_file(file, range),
        }
    }
}

/// Several parts in one body (section 14.6).
struct Multipart {
    boundary: String,
    /// Each part with what stands before it.
    parts: Vec<(String, Range<u64>)>,
    end: String,
}

impl Multipart {
    fn new(representation: &Representation, ranges: Vec<Range<u64>>) -> Self {
        let boundary = new_boundary();
        let content_type =
            representation.fields.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.map_or(String::new(), |text| format!("Content-Type: {text}\r\n"));
        let parts = ranges.into_iter().enumerate().map(|(index, range)| {
            let line_break = if index == 0 { "" } else { "\r\n" };
            let content_range = content_range(&range, representation.size_bytes);
            let head =
                format!("{line_break}--{boundary}\r\n{content_type}Content-Range: {content_range}\r\n\r\n");
            (head, range)
        });
        Self { parts: parts.collect(), end: format!("\r\n--{boundary}--\r\n"), boundary }
    }

    fn length(&self) -> u64 {
        let parts = self.parts.iter().map(|(head, range)| head.len() as u64 + (range.end - range.start));
        parts.sum::<u64>() + self.end.len() as u64
    }

    fn body(self, content: Content) -> Body {
        match content {
            Content::Held(bytes) => self.gathered(&bytes).into(),
            Content::Open(file) => {
                let parts = self.parts.into_iter().flat_map(|(head, range)| {
                    [BodyPart::Bytes(head.into()), BodyPart::File { file: Arc::clone(&file), range }]
                });
                Body::from_parts(parts.chain([BodyPart::Bytes(self.end.into())]))
            }
        }
    }

    fn gathered(&self, bytes: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.length() as usize);
        for (head, range) in &self.parts {
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&bytes[range.start as usize..range.end as usize]);
        }
        body.extend_from_slice(self.end.as_bytes());
        body
    }
}

/// A text that no file can be made to hold, since nobody knows it before.
fn new_boundary() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = || RandomState::new().hash_one(count);
    format!("{:016x}{:016x}", random(), random())
}

fn content_range(range: &Range<u64>, size_bytes: u64) -> String {
    format!("bytes {}-{}/{size_bytes}", range.start, range.end - 1)
}

fn date_value(date: SystemTime) -> HeaderValue {
    HeaderValue::try_from(httpdate::fmt_http_date(date)).expect("a date is visible")
}
