//! HTML answers.

use http::HeaderValue;

use crate::{Body, IntoResponse, Response};

/// A page: `text/html; charset=utf-8`.
///
/// ```
/// use tayet::{Html, Router};
///
/// let app: Router = Router::new().get("/", || Html("<!doctype html><title>Hello</title>"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Html<T>(pub T);

impl<T: Into<Body>> IntoResponse for Html<T> {
    fn into_response(self) -> Response {
        Response::new(self.0)
            .with_content_type(const { HeaderValue::from_static("text/html; charset=utf-8") })
    }
}
