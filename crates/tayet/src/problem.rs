//! Error answers.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use http::{StatusCode, header};

use crate::{IntoResponse, Request, Response};

/// An error answer (RFC 9457): `application/problem+json`, or plain text for a client whose `Accept` prefers that.
///
/// ```
/// use tayet::{Path, Problem, Router, StatusCode};
///
/// fn seat(Path(row): Path<u32>) -> Result<String, Problem> {
///     if row > 30 {
///         return Err(Problem::new(StatusCode::NOT_FOUND).with_detail("the rows end at 30"));
///     }
///     Ok(format!("row {row}"))
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().get("/rows/{row}", seat));
/// let response = client.get("/rows/31").header("Accept", "text/plain").send();
/// assert_eq!(response.text(), "404 Not Found: the rows end at 30\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    detail: Cow<'static, str>,
    retry_after: Option<Duration>,
}

impl Problem {
    /// A problem of this status.
    pub fn new(status: StatusCode) -> Self {
        Self { status, detail: Cow::Borrowed(""), retry_after: None }
    }

    /// The same with one sentence for the person who reads it.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The same with `Retry-After` (RFC 9110, section 10.2.3): after how long it is worth another try, in whole seconds and at
    /// least one.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The sentence for the person who reads it, or nothing.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = tayet_engine::problem::response(self.status, &self.detail, None);
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.max(1).into());
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// The status, and the sentence if there is one.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.detail {
            "" => self.status.fmt(f),
            detail => write!(f, "{}: {detail}", self.status),
        }
    }
}

/// Errors of other crates say what a client is told of them by naming a problem as their
/// [`source`](std::error::Error::source); [`Error`](crate::Error) answers with it.
impl std::error::Error for Problem {}

/// Gives a response that is a [`Problem`]'s the form that the request accepts.
#[inline]
pub(crate) fn negotiate(response: &mut Response, request: &Request) {
    // Only what has extensions can be a problem, and few responses have any.
    if response.extensions().is_some() {
        negotiate_problem(response, request);
    }
}

#[inline(never)]
fn negotiate_problem(response: &mut Response, request: &Request) {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return };
    let Some(accept) = request.header(header::ACCEPT.as_str()) else { return };
    let form = tayet_engine::problem::response(problem.status, &problem.detail, Some(accept));
    let content_type = form.headers()[header::CONTENT_TYPE].clone();
    let answer = std::mem::take(response);
    *response = answer.with_content_type(content_type).with_body(form.into_body());
}
