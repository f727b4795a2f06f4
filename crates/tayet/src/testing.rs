//! Testing applications without sockets.

use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde::de::DeserializeOwned;
use tayet_engine::{RequestBuilder, Service};

use crate::app::App;
use crate::{Request, Response, Router};

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
    /// When a server would refuse such a request before it had a route, or could not read the file that it sends.
    #[track_caller]
    pub fn send(self) -> TestResponse {
        let target = self.builder.clone().build().unwrap_or_else(|refusal| panic!("{refusal}"));
        let found = self.app.find(&self.method, target.path().as_bytes());
        let mut request =
            self.builder.found(found.clone()).build().unwrap_or_else(|refusal| panic!("{refusal}"));
        if let Some(max_body_bytes) = self.app.settings(found.route).max_body_bytes {
            request.set_max_body_bytes(max_body_bytes);
        }
        let mut response = self.app.call(&mut request);
        read_file_body(&mut response);
        TestResponse { response, is_head: self.method == Method::HEAD }
    }
}

/// What a server sends from the page cache is read.
#[track_caller]
fn read_file_body(response: &mut Response) {
    let Some((file, range)) = response.body().as_file() else { return };
    let mut bytes = vec![0; (range.end - range.start) as usize];
    file.read_exact_at(&mut bytes, range.start).unwrap_or_else(|error| panic!("{error}"));
    *response.body_mut() = bytes.into();
}

/// A response that has come.
#[derive(Debug)]
pub struct TestResponse {
    response: Response,
    is_head: bool,
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
    /// When it is made by a writer ([`Body::from_writer`](crate::Body::from_writer)).
    #[track_caller]
    pub fn bytes(&self) -> &[u8] {
        if self.is_head {
            return &[];
        }
        self.response.body().as_bytes().expect("a body that is not made by a writer")
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

    /// The response itself.
    pub fn into_inner(self) -> Response {
        self.response
    }
}
