//! Why a request about an upload fails, and with which status.

use std::fmt;

use tayet::{BodyError, Error, IntoResponse, MultipartError, Problem, Response, StatusCode};

use crate::active::LeaseError;
use crate::store::StoreError;

/// How long a client is told to wait that has too much under way, or comes while another writes.
const RETRY_AFTER_SECONDS: &str = "1";
/// How long a client is told to wait when the store does not answer.
const UNAVAILABLE_RETRY_AFTER_SECONDS: &str = "5";

/// Why a request about an upload fails, and with which status.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// 400: a field is missing or wrong.
    Malformed(&'static str),
    /// 403: this upload does not take it.
    Forbidden(&'static str),
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 409: bytes were sent for another place than where they belong.
    OffsetMismatch { offset: u64 },
    /// 409: it contradicts what is known of the upload.
    Conflict(&'static str),
    /// 410
    Gone,
    /// 412: a version of tus that is not spoken.
    Version,
    /// 413
    TooLarge,
    /// 415: the type that the body should have.
    MediaType(&'static str),
    /// 416: bytes behind the end.
    RangeNotSatisfiable { length: u64 },
    /// 423: another request writes to it.
    Locked,
    /// 429: the client has too many under way.
    TooMany,
    /// 460
    ChecksumMismatch,
    /// 500; 503 when it may be over soon.
    Store(StoreError),
    /// 501: the store cannot do it.
    Unable(&'static str),
    /// 507
    NoRoom,
    /// The body did not come whole; the status is the body's.
    Body(BodyError),
    /// The form is none, or costs more than it may; the status is the form's.
    Form(MultipartError),
    /// A hook refused it; the status is the hook's.
    Refused(Error),
}

impl UploadError {
    /// The error of a part that was read as [`std::io::Read`]: what it was is inside.
    pub(crate) fn of_part(error: std::io::Error) -> Self {
        let error = match error.downcast::<MultipartError>() {
            Ok(form) => return Self::Form(form),
            Err(error) => error,
        };
        error.downcast::<BodyError>().map_or_else(Self::from, Self::Body)
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::OffsetMismatch { .. } | Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Gone => StatusCode::GONE,
            Self::Version => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::RangeNotSatisfiable { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Locked => StatusCode::LOCKED,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::ChecksumMismatch => checksum_mismatch(),
            Self::Store(StoreError::Unavailable(_)) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unable(_) => StatusCode::NOT_IMPLEMENTED,
            Self::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            Self::Body(error) => error.status(),
            Self::Form(error) => error.status(),
            Self::Refused(error) => error.status(),
        }
    }
}

/// The status that tus adds to those of HTTP.
fn checksum_mismatch() -> StatusCode {
    StatusCode::from_u16(460).expect("three digits")
}

impl fmt::Display for UploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(reason)
            | Self::Forbidden(reason)
            | Self::Conflict(reason)
            | Self::Unable(reason) => f.write_str(reason),
            Self::NotFound => f.write_str("there is no such upload"),
            Self::MethodNotAllowed => f.write_str("an upload does not know this method"),
            Self::OffsetMismatch { offset } => write!(f, "the upload is at offset {offset}"),
            Self::Gone => f.write_str("the upload was removed or has expired"),
            Self::Version => f.write_str("Tus-Resumable must be 1.0.0"),
            Self::TooLarge => f.write_str("the upload is larger than it may be"),
            Self::MediaType(expected) => write!(f, "the body must be {expected}"),
            Self::RangeNotSatisfiable { length } => write!(f, "the upload ends at {length}"),
            Self::Locked => f.write_str("another request writes to the upload"),
            Self::TooMany => f.write_str("too many uploads are under way"),
            Self::ChecksumMismatch => f.write_str("the checksum is another"),
            Self::Store(_) => f.write_str("the upload could not be stored"),
            Self::NoRoom => f.write_str("there is no room left"),
            Self::Body(error) => error.fmt(f),
            Self::Form(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl From<StoreError> for UploadError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::NotFound,
            StoreError::Gone { .. } => Self::Gone,
            StoreError::Full(_) => Self::NoRoom,
            StoreError::Unavailable(_) | StoreError::Io(_) => Self::Store(error),
        }
    }
}

impl From<std::io::Error> for UploadError {
    fn from(error: std::io::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl From<LeaseError> for UploadError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Taken => Self::Locked,
            LeaseError::Store(error) => error.into(),
        }
    }
}

impl IntoResponse for UploadError {
    fn into_response(self) -> Response {
        let fields: Vec<(&str, String)> = match &self {
            Self::Locked | Self::TooMany => vec![("retry-after", RETRY_AFTER_SECONDS.to_owned())],
            Self::RangeNotSatisfiable { length } => vec![("content-range", format!("bytes */{length}"))],
            Self::Store(error) => {
                tracing::error!("an upload could not be stored: {error}");
                let is_over_soon = matches!(error, StoreError::Unavailable(_));
                let retry_after = ("retry-after", UNAVAILABLE_RETRY_AFTER_SECONDS.to_owned());
                is_over_soon.then_some(retry_after).into_iter().collect()
            }
            _ => vec![],
        };
        let (status, detail) = (self.status(), self.to_string());
        let response = match self {
            Self::Refused(error) => error.into_response(),
            _ => Problem::new(status).with_detail(detail).into_response(),
        };
        fields.into_iter().fold(response, |response, (name, value)| response.with_header(name, value))
    }
}
