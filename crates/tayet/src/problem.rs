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

/// A response as it came, or if it is a [`Problem`]'s, in the form that the request accepts.
pub(crate) fn negotiated(mut response: Response, request: &Request) -> Response {
    if response.extensions().is_none() {
        return response;
    }
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let Some(accept) = request.header(header::ACCEPT.as_str()) else { return response };
    let form = tayet_engine::problem::response(problem.status, &problem.detail, Some(accept));
    let content_type = form.headers()[header::CONTENT_TYPE].clone();
    response.with_content_type(content_type).with_body(form.into_body())
}
