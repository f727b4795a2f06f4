//! Error answers.

use std::borrow::Cow;

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
}

impl Problem {
    /// A problem of this status.
    pub fn new(status: StatusCode) -> Self {
        Self { status, detail: Cow::Borrowed("") }
    }

    /// The same with one sentence for the person who reads it.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
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
        response.extensions_mut().insert(self);
        response
    }
}

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
