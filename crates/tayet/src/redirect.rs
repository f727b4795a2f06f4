//! Sending a client elsewhere.

use http::{HeaderValue, StatusCode, header};

use crate::{IntoResponse, Problem, Response};

/// Sends a client elsewhere (RFC 9110 section 15.4).
///
/// ```
/// use tayet::{IntoResponse, Redirect};
///
/// let response = Redirect::to("/thanks").into_response();
/// assert_eq!(response.status(), 303);
/// assert_eq!(response.headers()["location"], "/thanks");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    status: StatusCode,
    location: String,
}

impl Redirect {
    /// 303: the answer to this request is to be fetched there, by `GET`. What follows a form.
    pub fn to(location: impl Into<String>) -> Self {
        Self { status: StatusCode::SEE_OTHER, location: location.into() }
    }

    /// 307: for now, the same request is to be made there.
    pub fn temporary(location: impl Into<String>) -> Self {
        Self { status: StatusCode::TEMPORARY_REDIRECT, location: location.into() }
    }

    /// 308: from now on, the same request is to be made there.
    pub fn permanent(location: impl Into<String>) -> Self {
        Self { status: StatusCode::PERMANENT_REDIRECT, location: location.into() }
    }
}

/// A location that cannot stand in a header is a 500.
impl IntoResponse for Redirect {
    fn into_response(self) -> Response {
        match HeaderValue::try_from(self.location) {
            Ok(location) => Response::empty(self.status).with_header(header::LOCATION, location),
            Err(_) => {
                tracing::error!("a handler redirects to a location that cannot be sent");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response()
            }
        }
    }
}
