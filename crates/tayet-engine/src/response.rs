//! What a handler answers.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::body::Kind;
use crate::opening::Opening;
use crate::{Body, EventStream, Request, WebSocketHandler, WebSocketOptions};

/// A response: a status, header fields and a [`Body`].
///
/// The header map is made when it is first asked for: a response that has only a content type costs no map.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Body, Response};
///
/// let response = Response::new(Body::from("hello")).with_header("x-shift", "late");
/// assert_eq!(response.status(), 200);
/// assert_eq!(response.headers()["x-shift"], "late");
/// ```
// In this order, so that what is written in narrow pieces is not copied in wide ones, which would wait for those: behind a content
// type there is nothing.
#[repr(C)]
pub struct Response {
    headers: OnceCell<Box<HeaderMap>>,
    extensions: Option<Box<Extensions>>,
    status: StatusCode,
    body: Body,
    content_type: ContentType,
}

/// A content type that is in no header map.
// With a tag of its own: one in the niche of a value's flag takes several steps to read.
#[repr(u8)]
enum ContentType {
    Absent,
    /// Nothing is to be made for it, nor dropped.
    Static(&'static HeaderValue),
    Own(HeaderValue),
}

/// A reason phrase, among a response's extensions: few have one.
#[derive(Clone)]
struct ReasonPhrase(HeaderValue);

impl Response {
    /// A 200 with this body and no header fields.
    pub fn new(body: impl Into<Body>) -> Self {
        Self::ok(ContentType::Absent, body.into())
    }

    /// A 200 with this body and content type.
    #[inline]
    pub fn of_type(content_type: HeaderValue, body: impl Into<Body>) -> Self {
        Self::ok(ContentType::Own(content_type), body.into())
    }

    /// The same with a content type that the program has anyway: such an answer costs less.
    ///
    /// ```
    /// use tayet_engine::Response;
    /// use http::HeaderValue;
    ///
    /// static CSV: HeaderValue = HeaderValue::from_static("text/csv");
    /// let response = Response::of_static_type(&CSV, "a,b");
    /// assert_eq!(response.headers()["content-type"], "text/csv");
    /// ```
    #[inline]
    pub fn of_static_type(content_type: &'static HeaderValue, body: impl Into<Body>) -> Self {
        Self::ok(ContentType::Static(content_type), body.into())
    }

    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self::new(Body::empty()).with_status(status)
    }

    /// Begins a WebSocket: 101, without the fields of the handshake (`Sec-WebSocket-Accept` and so on), which are the
    /// caller's to add. A deferred answer cannot begin one.
    pub fn web_socket(handler: Arc<dyn WebSocketHandler>, options: WebSocketOptions) -> Self {
        let opening = Box::new(Opening::web_socket(handler, options));
        Self::new(Body(Kind::Session(opening)))
            .with_status(StatusCode::SWITCHING_PROTOCOLS)
            .with_header(header::UPGRADE, "websocket")
    }

    /// Begins a stream of server-sent events; `open` is called with it, and may run for as long as it likes. A client that
    /// goes is noticed: [`EventStream::send`] is then an error.
    pub fn events(open: impl FnOnce(EventStream, &Request) + Send + 'static) -> Self {
        let opening = Box::new(Opening::events(Box::new(open)));
        Self::new(Body(Kind::Session(opening)))
            .with_content_type(HeaderValue::from_static("text/event-stream"))
            .with_header(header::CACHE_CONTROL, "no-store")
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with this reason phrase in place of the status's usual one. HTTP/1.1 sends it (RFC 9112 section 4); clients
    /// give it no meaning.
    #[must_use]
    pub fn with_reason_phrase(mut self, reason: HeaderValue) -> Self {
        self.extensions_mut().insert(ReasonPhrase(reason));
        self
    }

    /// The same with this content type in place of another. Costs no header map.
    #[must_use]
    #[inline]
    pub fn with_content_type(mut self, value: HeaderValue) -> Self {
        match self.headers.get_mut() {
            Some(headers) => drop(headers.insert(header::CONTENT_TYPE, value)),
            None => self.content_type = ContentType::Own(value),
        }
        self
    }

    /// The same with this field in place of others of its name.
    ///
    /// # Panics
    ///
    /// When the name or the value cannot stand in a header; use [`Response::headers_mut`] for what comes from outside.
    #[must_use]
    pub fn with_header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName, Error: fmt::Debug>,
        V: TryInto<HeaderValue, Error: fmt::Debug>,
    {
        let name = name.try_into().expect("a valid header name");
        let value = value.try_into().expect("a valid header value");
        self.headers_mut().insert(name, value);
        self
    }

    /// The same with another body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Changes the status.
    pub fn set_status(&mut self, status: StatusCode) {
        self.status = status;
    }

    /// The header fields. The framing ones (`Content-Length`, `Transfer-Encoding`, `Connection`, `Date`) are added when
    /// the response is sent.
    pub fn headers(&self) -> &HeaderMap {
        self.headers.get_or_init(|| Self::materialise(self.content_type.get().cloned()))
    }

    /// The header fields, to be changed. `Connection: close` here closes the connection behind the response.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        let content_type = std::mem::replace(&mut self.content_type, ContentType::Absent).into_value();
        if self.headers.get().is_none() {
            let _ = self.headers.set(Self::materialise(content_type));
        }
        self.headers.get_mut().expect("just set")
    }

    /// The body.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The body, to be changed or taken.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.body
    }

    /// The body alone.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// Values that middleware hands to other middleware; not sent.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions.get_or_insert_default()
    }

    /// Values that handlers hand to middleware; not sent.
    pub fn extensions(&self) -> Option<&Extensions> {
        self.extensions.as_deref()
    }

    /// What stands behind the status in place of its usual reason phrase.
    pub(crate) fn reason_phrase(&self) -> Option<&HeaderValue> {
        self.extensions()?.get::<ReasonPhrase>().map(|ReasonPhrase(reason)| reason)
    }

    /// The fields as they are sent: the map if there is one, else the content type alone.
    pub(crate) fn fields(&self) -> (Option<&HeaderMap>, Option<&HeaderValue>) {
        match self.headers.get() {
            Some(headers) => (Some(headers), None),
            None => (None, self.content_type.get()),
        }
    }

    /// The content type and the body, if that is all there is to a 200.
    #[inline(always)]
    pub(crate) fn as_plain(&self) -> Option<(Option<&HeaderValue>, &[u8])> {
        let body = match &self.body.0 {
            Kind::Bytes(body) => body,
            Kind::Static(body) => *body,
            _ => return None,
        };
        let is_plain =
            self.status == StatusCode::OK && self.headers.get().is_none() && self.extensions.is_none();
        is_plain.then(|| (self.content_type.get(), body))
    }

    /// Takes it out of its place and drops it. Most are bytes and nothing else, which is seen at once and not asked for piece by
    /// piece.
    #[inline(always)]
    pub(crate) fn discard(place: &mut Option<Self>) {
        let Some(Self { headers, extensions: None, content_type, body: Body(body), .. }) = place else {
            return drop_any(place);
        };
        if headers.get().is_some() || matches!(content_type, ContentType::Own(_)) {
            return drop_any(place);
        }
        match body {
            Kind::Static(_) => {}
            Kind::Bytes(bytes) => drop(std::mem::take(bytes)),
            _ => return drop_any(place),
        }
        std::mem::forget(place.take());
    }

    #[inline]
    fn ok(content_type: ContentType, body: Body) -> Self {
        Self { status: StatusCode::OK, content_type, headers: OnceCell::new(), extensions: None, body }
    }

    fn materialise(content_type: Option<HeaderValue>) -> Box<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Some(value) = content_type {
            headers.insert(header::CONTENT_TYPE, value);
        }
        Box::new(headers)
    }
}

#[inline(never)]
fn drop_any(place: &mut Option<Response>) {
    *place = None;
}

impl ContentType {
    #[inline]
    fn get(&self) -> Option<&HeaderValue> {
        match self {
            Self::Absent => None,
            Self::Static(value) => Some(value),
            Self::Own(value) => Some(value),
        }
    }

    fn into_value(self) -> Option<HeaderValue> {
        match self {
            Self::Absent => None,
            Self::Static(value) => Some(value.clone()),
            Self::Own(value) => Some(value),
        }
    }
}

impl Default for Response {
    fn default() -> Self {
        Self::empty(StatusCode::OK)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", self.headers())
            .field("body", &self.body)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_type_is_kept_when_the_map_is_made() {
        let mut response = Response::new("x").with_content_type(HeaderValue::from_static("text/plain"));
        assert!(response.fields().0.is_none());
        response.headers_mut().insert("x-a", HeaderValue::from_static("1"));
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/plain");
        let response = response.with_content_type(HeaderValue::from_static("text/html"));
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/html");
        assert_eq!(response.headers().len(), 2);
    }
}
