//! Answers for handlers that panic.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use http::StatusCode;

use super::{Middleware, Next};
use crate::{IntoResponse, Problem, Request, Response};

/// Answers in the place of a handler that panics.
///
/// A server answers 500 by itself; this is for an answer of one's own, and for layers further out that are to see it.
///
/// ```
/// use tayet::{CatchPanic, Html, Request, Router, StatusCode};
///
/// fn sorry(_: &mut Request, _: &str) -> (StatusCode, Html<&'static str>) {
///     (StatusCode::INTERNAL_SERVER_ERROR, Html("<h1>Sorry!</h1>"))
/// }
///
/// fn broken() -> &'static str {
///     panic!("this one is broken")
/// }
///
/// let app: Router = Router::new().get("/", broken).layer(CatchPanic::with(sorry));
/// let response = tayet::testing::TestClient::new(app).get("/").send();
/// assert_eq!((response.status().as_u16(), response.text()), (500, "<h1>Sorry!</h1>"));
/// ```
pub struct CatchPanic {
    answer: Box<Answer>,
}

type Answer = dyn Fn(&mut Request, &str) -> Response + Send + Sync;

impl CatchPanic {
    /// Answers a bare 500.
    pub fn new() -> Self {
        Self::with(|_: &mut Request, _: &str| Problem::new(StatusCode::INTERNAL_SERVER_ERROR))
    }

    /// Answers what `answer` makes of the request and the panic's message.
    pub fn with<R: IntoResponse>(answer: impl Fn(&mut Request, &str) -> R + Send + Sync + 'static) -> Self {
        Self { answer: Box::new(move |request, message| answer(request, message).into_response()) }
    }
}

impl Middleware for CatchPanic {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        // The request alone outlives the panic, and it is only read again.
        catch_unwind(AssertUnwindSafe(|| next.run(request))).unwrap_or_else(|payload| {
            let message = message_of(&*payload);
            tracing::error!(route = next.route().label(), "a handler panicked: {message}");
            (self.answer)(request, message)
        })
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl Default for CatchPanic {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CatchPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatchPanic").finish_non_exhaustive()
    }
}
