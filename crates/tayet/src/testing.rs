//! Testing applications without sockets.

use std::cell::{OnceCell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde::de::DeserializeOwned;
use tayet_engine::{Match, RequestBuilder, Service};

use crate::app::App;
use crate::{Body, Request, Response, Router};

/// Asks a router, on the thread of the test: no sockets, no server.
///
/// What only a server does is not there: limits but that of the body, time-outs, deferred answers, and bodies that arrive
/// slowly. A handler's panic goes on into the test.
///
/// ```
/// use tayet::{Router, testing::TestClient};
///
/// let client = TestClient::new(Router::new().get("/", || "hello"));
/// let response = client.get("/").send();
/// assert_eq!(response.status(), 200);
/// assert_eq!(response.text(), "hello");
/// ```
#[derive(Clone, Debug)]
pub struct TestClient {
    app: Arc<App>,
}

impl TestClient {
    /// A client of this router.
    pub fn new(router: Router) -> Self {
        Self { app: Arc::new(router.into_app()) }
    }

    /// A `GET` request.
    pub fn get(&self, target: &str) -> TestRequest<'_> {
        self.request(Method::GET, target)
    }

    /// A `POST` request.
    pub fn post(&self, target: &str) -> TestRequest<'_> {
        self.request(Method::POST, target)
    }

    /// A `PUT` request.
    pub fn put(&self, target: &str) -> TestRequest<'_> {
        self.request(Method::PUT, target)
    }

    /// A `DELETE` request.
    pub fn delete(&self, target: &str) -> TestRequest<'_> {
        self.request(Method::DELETE, target)
    }

    /// A request of any method.
    pub fn request(&self, method: Method, target: &str) -> TestRequest<'_> {
        TestRequest { app: &self.app, builder: Request::builder(method.as_str(), target), method }
    }
}

/// A request that is being made.
#[derive(Debug)]
#[must_use = "a request is sent by `send`"]
pub struct TestRequest<'a> {
    app: &'a App,
    method: Method,
    builder: RequestBuilder,
}

impl TestRequest<'_> {
    /// Adds a header field. `Host: localhost` is there unless another is given.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    /// Gives it a body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.builder = self.builder.body(body);
        self
    }

    /// Gives it a body of type `application/json`.
    pub fn json(self, json: impl Into<Bytes>) -> Self {
        self.header("Content-Type", "application/json").body(json)
    }

    /// Gives it a body of type `application/x-www-form-urlencoded`.
    pub fn form(self, form: impl Into<Bytes>) -> Self {
        self.header("Content-Type", "application/x-www-form-urlencoded").body(form)
    }

    /// Says who asks. Without it, a Unix socket's other end does.
    pub fn remote_addr(mut self, remote: SocketAddr) -> Self {
        self.builder = self.builder.remote_addr(remote);
        self
    }

    /// The response.
    ///
    /// # Panics
    ///
    /// When a server would refuse such a request before it had a route.
    #[track_caller]
    pub fn send(self) -> TestResponse {
        let target = self.builder.clone().build().unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut found = Match::default();
        found.route = self.app.find(&self.method, target.path().as_bytes(), &mut found.captures);
        let route = found.route;
        let mut request = self.builder.found(found).build().unwrap_or_else(|refusal| panic!("{refusal}"));
        if let Some(max_body_bytes) = self.app.settings(route).max_body_bytes {
            request.set_max_body_bytes(max_body_bytes);
        }
        let mut response = self.app.call(&mut request);
        let body = response.body_mut().take();
        let body = if self.method == Method::HEAD { Body::empty() } else { body };
        TestResponse { response, unread: RefCell::new(body), content: OnceCell::new() }
    }
}

/// A response that has come. A body that is made by a writer ([`Body::from_writer`]) is written when it is first asked for.
#[derive(Debug)]
pub struct TestResponse {
    /// Without its body.
    response: Response,
    unread: RefCell<Body>,
    content: OnceCell<Content>,
}

#[derive(Debug)]
struct Content {
    bytes: Vec<u8>,
    trailers: HeaderMap,
}

impl TestResponse {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The header fields, without those that a server adds when it sends them.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The first field of this name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// The body.
    ///
    /// # Panics
    ///
    /// When its writer fails.
    #[track_caller]
    pub fn bytes(&self) -> &[u8] {
        &self.content().bytes
    }

    /// The fields behind the body ([`BodyWriter::trailers_mut`](crate::BodyWriter::trailers_mut)).
    ///
    /// # Panics
    ///
    /// As [`TestResponse::bytes`].
    #[track_caller]
    pub fn trailers(&self) -> &HeaderMap {
        &self.content().trailers
    }

    /// The body as text.
    ///
    /// # Panics
    ///
    /// When it is not UTF-8, or as [`TestResponse::bytes`].
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.bytes()).expect("a body of UTF-8 text")
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// When it is not that, or as [`TestResponse::bytes`].
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(self.bytes()).expect("a body of JSON")
    }

    /// The response itself, with its body unless that was asked for before.
    pub fn into_inner(self) -> Response {
        self.response.with_body(self.unread.into_inner())
    }

    #[track_caller]
    fn content(&self) -> &Content {
        self.content.get_or_init(|| {
            let mut bytes = Vec::new();
            let trailers = self.unread.take().write_to(&mut bytes);
            let trailers = trailers.unwrap_or_else(|error| panic!("the body's writer failed: {error}"));
            Content { bytes, trailers: trailers.map(|trailers| *trailers).unwrap_or_default() }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn client() -> TestClient {
        let lines = || {
            Body::from_writer(|out| {
                out.write_all(b"one\ntwo\n")?;
                out.trailers_mut().insert("x-lines", 2.into());
                Ok(())
            })
        };
        TestClient::new(Router::new().get("/lines", lines))
    }

    #[test]
    fn a_written_body_is_read_as_any_other() {
        let response = client().get("/lines").send();
        assert_eq!(response.text(), "one\ntwo\n");
        assert_eq!(response.trailers()["x-lines"], "2");
        assert_eq!(response.bytes(), b"one\ntwo\n");
    }

    #[test]
    fn head_has_no_body() {
        assert_eq!(client().request(Method::HEAD, "/lines").send().bytes(), b"");
    }

    #[test]
    fn the_response_itself_has_its_body() {
        let body = client().get("/lines").send().into_inner().into_body();
        assert_eq!(body.into_bytes(100).unwrap(), "one\ntwo\n");
    }

    #[test]
    #[should_panic(expected = "the body's writer failed: the body is 1 bytes shorter than its length")]
    fn a_writer_that_fails_fails_the_test() {
        let short = || Body::from_writer_sized(2, |out| out.write_all(b"1"));
        TestClient::new(Router::new().get("/", short)).get("/").send().bytes();
    }
}
