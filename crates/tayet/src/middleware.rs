//! What stands around handlers.

mod access_log;
mod body_limit;
mod catch_panic;
mod compression;
mod cors;
mod decompression;
mod default_headers;
mod forwarded;
mod request_id;
mod server_timing;
mod timeout;
mod trusted_proxies;

use std::fmt;

use http::Method;

pub use access_log::{
    ACCESS_LOG_FLUSH_TIMEOUT_MS, AccessLog, AccessLogFormat, DEFAULT_ACCESS_LOG_QUEUE_ENTRIES,
    InvalidAccessLogFormat,
};
pub use body_limit::BodyLimit;
pub use catch_panic::CatchPanic;
pub use compression::{Compression, DEFAULT_MAX_INLINE_COMPRESSED_BYTES, DEFAULT_MIN_COMPRESSED_BYTES};
pub use cors::Cors;
pub use decompression::{DEFAULT_MAX_INFLATED_BYTES, Decompression};
pub use default_headers::DefaultHeaders;
pub use request_id::{MAX_REQUEST_ID_BYTES, RequestId, RequestIds};
pub use server_timing::ServerTiming;
pub use timeout::Timeout;
pub use trusted_proxies::{ForwardedFields, InvalidNetwork, TrustedProxies};

use crate::context::{Context, Place};
use crate::matched_route::MatchedRoute;
use crate::{IntoResponse, Request, Response, ServerHandle, Settings};

/// Something that stands around handlers: it sees a request before them and their answer after them, or answers itself.
///
/// A function is one. It takes the request by reference, so it can still read it when the answer is there:
///
/// ```
/// use tayet::{Next, Request, Response, Router, StatusCode};
///
/// fn only_with_key(request: &mut Request, next: Next<'_>) -> Result<Response, StatusCode> {
///     if request.header("x-key") != Some("secret") {
///         return Err(StatusCode::UNAUTHORIZED);
///     }
///     Ok(next.run(request).with_header("x-seen", request.path().to_owned()))
/// }
///
/// let app: Router = Router::new().get("/", || "hello").layer(only_with_key);
/// ```
///
/// Of a handler that answers later ([`Request::defer`], [`Request::detach`]) it sees a response that goes nowhere; what it
/// changes of the answer it says with [`Request::amend_deferred`], as all middleware of this crate does.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not middleware",
    note = "middleware is `fn(&mut Request, Next<'_>) -> impl IntoResponse`, or a type that implements `Middleware`",
    note = "a closure must name its arguments' types: `|request: &mut Request, next: Next<'_>| ..`"
)]
pub trait Middleware: Send + Sync + 'static {
    /// Answers a request, mostly by [`Next::run`].
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response;

    /// What it asks of the handlers inside of it; their own settings prevail.
    fn settings(&self) -> Settings {
        Settings::default()
    }

    /// Finishes what it does beside the requests, such as writing what it has gathered; called once, when the server has
    /// stopped and before [`ServerHandle::join`] returns. Handlers that outlived the shutdown's deadline may still call it
    /// after that. Default: nothing.
    fn stopped(&self) {}
}

impl<F, R> Middleware for F
where
    F: Fn(&mut Request, Next<'_>) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        self(request, next).into_response()
    }
}

/// Changes an answer by what `middleware` knows: at once, or when it comes if its handler has deferred it.
fn amend<M: Clone + Send + 'static>(
    middleware: &M,
    request: &mut Request,
    response: &mut Response,
    amend: impl FnOnce(&M, &mut Response) + Send + 'static,
) {
    if request.is_deferred() {
        let middleware = middleware.clone();
        request.amend_deferred(move |response| amend(&middleware, response));
    } else {
        amend(middleware, response);
    }
}

/// What stands inside of a [`Middleware`].
#[derive(Clone, Copy)]
pub struct Next<'a> {
    inner: &'a dyn Fn(&mut Request) -> Response,
    place: Place<'a>,
}

impl<'a> Next<'a> {
    pub(crate) fn new(inner: &'a dyn Fn(&mut Request) -> Response, place: Place<'a>) -> Self {
        Self { inner, place }
    }

    /// Runs it.
    pub fn run(self, request: &mut Request) -> Response {
        (self.inner)(request)
    }

    /// The route that was found.
    pub fn route(&self) -> &'a MatchedRoute {
        self.place.route
    }

    /// The running server; `None` in tests without one.
    pub fn server(&self) -> Option<ServerHandle> {
        self.context().server()
    }

    /// The methods that have a handler at a path.
    pub fn allowed_methods(&self, path: &str) -> Vec<Method> {
        self.place.app.allowed(path)
    }

    /// What extractors ask for, so that they can be used in middleware.
    pub fn context(&self) -> Context<'a> {
        Context::new(&(), self.place)
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("route", self.route()).finish_non_exhaustive()
    }
}
