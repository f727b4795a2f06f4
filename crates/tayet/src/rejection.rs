//! Why an extractor did not find what it wants.

use std::fmt;

use http::StatusCode;
use tayet_engine::BodyError;

use crate::{IntoResponse, MultipartError, Problem, Response};

/// Why an extractor did not find what it wants. As a response it is a [`Problem`] that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// A part of the path is not of the wanted type: 400.
    Path(InvalidText),
    /// The query is not of the wanted form: 400.
    Query(InvalidText),
    /// A form is not of the wanted form: 422.
    Form(InvalidText),
    /// The body is not JSON: 400.
    JsonSyntax(InvalidJson),
    /// The body is JSON, but not of the wanted form: 422.
    JsonData(InvalidJson),
    /// The body is of another type than the wanted one: 415.
    MediaType {
        /// What is wanted.
        expected: &'static str,
        /// What `Content-Type` says.
        found: Option<String>,
    },
    /// The body is not UTF-8: 400.
    NotUtf8,
    /// A form with files is malformed or too large: as [`MultipartError::status`].
    Multipart(MultipartError),
    /// The body could not be read: as [`BodyError::status`].
    Body(BodyError),
    /// The request does not say what it must: 400.
    Missing(&'static str),
    /// The application lacks what its handler asks for, such as an [`Extension`](crate::Extension): 500. The detail is
    /// logged, not shown.
    Unprovided(&'static str),
}

/// A text, or one of several named ones, that is not of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// The name of the parameter, where it is known which one it is.
    pub parameter: Option<String>,
    /// What is wrong.
    pub reason: String,
}

/// Where a JSON text is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidJson {
    /// Where in the data, such as `items[2].price`; empty for the whole.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

impl Rejection {
    /// The status that tells the client.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Path(_) | Self::Query(_) | Self::JsonSyntax(_) | Self::NotUtf8 | Self::Missing(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::Form(_) | Self::JsonData(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::MediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Multipart(error) => error.status(),
            Self::Body(error) => error.status(),
            Self::Unprovided(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the client is told.
    pub(crate) fn problem(&self) -> Problem {
        match self {
            Self::Unprovided(_) => Problem::new(self.status()),
            _ => Problem::new(self.status()).with_detail(self.to_string()),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(text) => write!(f, "the path: {text}"),
            Self::Query(text) => write!(f, "the query: {text}"),
            Self::Form(text) => write!(f, "the form: {text}"),
            Self::JsonSyntax(json) => write!(f, "the body is not JSON: {json}"),
            Self::JsonData(json) => write!(f, "the body's JSON is not of the expected form: {json}"),
            Self::MediaType { expected, found: None } => {
                write!(f, "the body must be {expected}, but Content-Type is missing")
            }
            Self::MediaType { expected, found: Some(found) } => {
                write!(f, "the body must be {expected}, not {found}")
            }
            Self::NotUtf8 => f.write_str("the body is not UTF-8"),
            Self::Multipart(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
            Self::Missing(what) => write!(f, "the request has no {what}"),
            Self::Unprovided(what) => write!(f, "nothing provides {what}"),
        }
    }
}

impl fmt::Display for InvalidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.parameter {
            Some(parameter) => write!(f, "`{parameter}`: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        write!(f, "{} at line {} column {}", self.reason, self.line, self.column)
    }
}

impl std::error::Error for Rejection {}

impl From<BodyError> for Rejection {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        if let Self::Unprovided(what) = self {
            tracing::error!("nothing provides {what}, which a handler asks for");
        }
        self.problem().into_response()
    }
}
