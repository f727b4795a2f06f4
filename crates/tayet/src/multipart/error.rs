//! What is wrong with a form.

use std::fmt;
use std::io;

use http::StatusCode;
use tayet_engine::BodyError;

use crate::{IntoResponse, Rejection, Response};

/// Why a form of `multipart/form-data` could not be read. In handlers that return [`Result`](crate::Result) it becomes the
/// answer of its status with `?`, also as the [`io::Error`] that reading a part gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultipartError {
    /// The body is of another type: 415.
    NotMultipart {
        /// What `Content-Type` says.
        found: Option<String>,
    },
    /// `Content-Type` has no boundary that RFC 2046 section 5.1.1 allows: 400.
    InvalidBoundary,
    /// A line that begins with the boundary goes on as no such line does: 400.
    MalformedBoundaryLine,
    /// A part's header is none: 400.
    MalformedPartHeader,
    /// A part's `Content-Disposition` is missing or none of a form (RFC 7578 section 4.2): 400.
    MalformedDisposition,
    /// A part is in a transfer encoding, which forms do not have (RFC 7578 section 4.7): 415.
    TransferEncoding,
    /// A name or a text is not UTF-8: 400.
    NotUtf8,
    /// The body ends before the boundary that ends the form: 400.
    Truncated,
    /// More than [`max_fields`](crate::MultipartLimits::max_fields): 413.
    TooManyFields {
        /// The limit.
        limit: usize,
    },
    /// More than [`max_files`](crate::MultipartLimits::max_files): 413.
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// A field of more than [`max_field_bytes`](crate::MultipartLimits::max_field_bytes), or a part of more than it was to
    /// have in memory: 413.
    FieldTooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// A file of more than [`max_file_bytes`](crate::MultipartLimits::max_file_bytes): 413.
    FileTooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// A part's header of more than [`max_part_header_bytes`](crate::MultipartLimits::max_part_header_bytes): 413.
    PartHeaderTooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// More than [`max_preamble_bytes`](crate::MultipartLimits::max_preamble_bytes) before the first part or behind the
    /// last: 413.
    PreambleTooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// The body could not be read: as [`BodyError::status`].
    Body(BodyError),
}

impl MultipartError {
    /// The status that tells the client.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotMultipart { .. } | Self::TransferEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidBoundary
            | Self::MalformedBoundaryLine
            | Self::MalformedPartHeader
            | Self::MalformedDisposition
            | Self::NotUtf8
            | Self::Truncated => StatusCode::BAD_REQUEST,
            Self::TooManyFields { .. }
            | Self::TooManyFiles { .. }
            | Self::FieldTooLarge { .. }
            | Self::FileTooLarge { .. }
            | Self::PartHeaderTooLarge { .. }
            | Self::PreambleTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Body(error) => error.status(),
        }
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMultipart { found: None } => {
                f.write_str("the body must be multipart/form-data, but Content-Type is missing")
            }
            Self::NotMultipart { found: Some(found) } => {
                write!(f, "the body must be multipart/form-data, not {found}")
            }
            Self::InvalidBoundary => f.write_str("the Content-Type has no valid boundary"),
            Self::MalformedBoundaryLine => f.write_str("the form has a malformed boundary line"),
            Self::MalformedPartHeader => f.write_str("the form has a part with a malformed header"),
            Self::MalformedDisposition => f.write_str(
                "the form has a part without a well-formed Content-Disposition of form-data with a name",
            ),
            Self::TransferEncoding => f.write_str("the form has a part in a transfer encoding"),
            Self::NotUtf8 => f.write_str("the form has a name or a text that is not UTF-8"),
            Self::Truncated => f.write_str("the form ends before its last boundary"),
            Self::TooManyFields { limit } => write!(f, "the form has more than {limit} fields"),
            Self::TooManyFiles { limit } => write!(f, "the form has more than {limit} files"),
            Self::FieldTooLarge { limit_bytes } => {
                write!(f, "the form has a field of more than {limit_bytes} bytes")
            }
            Self::FileTooLarge { limit_bytes } => {
                write!(f, "the form has a file of more than {limit_bytes} bytes")
            }
            Self::PartHeaderTooLarge { limit_bytes } => {
                write!(f, "the form has a part with a header of more than {limit_bytes} bytes")
            }
            Self::PreambleTooLarge { limit_bytes } => {
                write!(f, "the form has more than {limit_bytes} bytes outside of its parts")
            }
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MultipartError {}

impl From<BodyError> for MultipartError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<MultipartError> for io::Error {
    fn from(error: MultipartError) -> Self {
        let kind = match error {
            MultipartError::Body(error) => return error.into(),
            MultipartError::FieldTooLarge { .. } | MultipartError::FileTooLarge { .. } => {
                io::ErrorKind::FileTooLarge
            }
            MultipartError::Truncated => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

impl IntoResponse for MultipartError {
    fn into_response(self) -> Response {
        Rejection::Multipart(self).into_response()
    }
}
