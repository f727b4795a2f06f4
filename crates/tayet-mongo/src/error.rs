//! Why a query fails, and what a client is told.

use std::fmt;
use std::time::Duration;

use mongodb::error::{CommandError, Error as DriverError, ErrorKind as DriverErrorKind, WriteFailure};
use tayet::{IntoResponse, Problem, Response, StatusCode};

/// A result of this crate.
pub type Result<T, E = MongoError> = std::result::Result<T, E>;

/// Why a query failed.
///
/// As a response, and through `?` as a [`tayet::Error`], it is a [`Problem`] of the status that [`MongoErrorKind`] names. What the
/// database says is logged, not shown.
///
/// ```
/// use tayet::{IntoResponse, StatusCode};
/// use tayet_mongo::{Mongo, MongoErrorKind};
///
/// let error = Mongo::new("mongodb://").unwrap_err();
/// assert_eq!(error.kind(), MongoErrorKind::Misconfigured);
/// assert_eq!(tayet::Error::from(error).status(), StatusCode::INTERNAL_SERVER_ERROR);
/// ```
#[derive(Debug)]
pub struct MongoError {
    kind: MongoErrorKind,
    problem: Problem,
    cause: Option<Cause>,
}

/// What kind of failure it is, and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MongoErrorKind {
    /// 503 with `Retry-After`: there is no server, its connection broke, or it was not asked since it failed of late.
    Unavailable,
    /// 503 with `Retry-After`: too many queries wait for a connection.
    Busy,
    /// 503 with `Retry-After`: it was not answered before the request's deadline or
    /// [`query_timeout_ms`](crate::MongoConfig::query_timeout_ms).
    TimedOut,
    /// 499, which nobody reads: the client has gone while it was under way.
    ClientGone,
    /// 409: a unique index has this key already.
    DuplicateKey,
    /// 409: another transaction writes to the same document, and did so at every attempt.
    WriteConflict,
    /// 400: the client's paging token is none.
    InvalidPage,
    /// 422: the collection's validation refuses the document.
    InvalidDocument,
    /// 501: the server cannot do it, such as transactions without a replica set.
    Unsupported,
    /// 500: what was found is not of the collection's type, or what was to be written cannot be.
    Data,
    /// 500: the URI or the configuration is wrong, or the server refuses who asks.
    Misconfigured,
    /// 500: everything else, such as an unknown operator in a filter.
    Failed,
}

#[derive(Debug)]
enum Cause {
    Driver(Box<DriverError>),
    Text(String),
}

/// How long a client is told to wait where nothing better is known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

mod code {
    pub(super) const INTERNAL_ERROR: i32 = 1;
    pub(super) const FAILED_TO_PARSE: i32 = 9;
    pub(super) const UNAUTHORIZED: i32 = 13;
    pub(super) const AUTHENTICATION_FAILED: i32 = 18;
    pub(super) const ILLEGAL_OPERATION: i32 = 20;
    pub(super) const MAX_TIME_EXPIRED: i32 = 50;
    pub(super) const COMMAND_NOT_FOUND: i32 = 59;
    pub(super) const WRITE_CONFLICT: i32 = 112;
    pub(super) const VALIDATION: i32 = 121;
    pub(super) const NOT_IMPLEMENTED: i32 = 238;
    pub(super) const DUPLICATE_KEY: [i32; 3] = [11_000, 11_001, 12_582];
}

impl MongoError {
    /// What kind of failure it is.
    pub fn kind(&self) -> MongoErrorKind {
        self.kind
    }

    /// The driver's error, where it is one.
    pub fn driver_error(&self) -> Option<&DriverError> {
        match &self.cause {
            Some(Cause::Driver(error)) => Some(error),
            _ => None,
        }
    }

    /// What a client is told.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    pub(crate) fn of_kind(kind: MongoErrorKind) -> Self {
        Self { kind, problem: kind.problem(), cause: None }
    }

    pub(crate) fn because(kind: MongoErrorKind, cause: impl fmt::Display) -> Self {
        Self { cause: Some(Cause::Text(cause.to_string())), ..Self::of_kind(kind) }
    }

    /// The server is left alone for so long.
    pub(crate) fn left_alone(wait: Duration) -> Self {
        let error = Self::because(MongoErrorKind::Unavailable, "it has failed of late and is left alone");
        Self { problem: error.problem.with_retry_after(wait), ..error }
    }

    /// A write that the server refused with this code.
    pub(crate) fn of_write(code: i32, message: &str) -> Self {
        Self::because(kind_of_code(code), format_args!("{message} (code {code})"))
    }

    /// Whether it tells that the server is not well.
    pub(crate) fn blames_server(&self) -> bool {
        self.kind == MongoErrorKind::Unavailable
    }
}

impl MongoErrorKind {
    /// The status that tells the client.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Unavailable | Self::Busy | Self::TimedOut => StatusCode::SERVICE_UNAVAILABLE,
            Self::ClientGone => client_closed_request(),
            Self::DuplicateKey | Self::WriteConflict => StatusCode::CONFLICT,
            Self::InvalidPage => StatusCode::BAD_REQUEST,
            Self::InvalidDocument => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Self::Data | Self::Misconfigured | Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Its name in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::TimedOut => "timed_out",
            Self::ClientGone => "client_gone",
            Self::DuplicateKey => "duplicate_key",
            Self::WriteConflict => "write_conflict",
            Self::InvalidPage => "invalid_page",
            Self::InvalidDocument => "invalid_document",
            Self::Unsupported => "unsupported",
            Self::Data => "data",
            Self::Misconfigured => "misconfigured",
            Self::Failed => "failed",
        }
    }

    fn detail(self) -> &'static str {
        match self {
            Self::Unavailable => "the database is not there at the moment",
            Self::Busy => "too many queries wait for the database",
            Self::TimedOut => "the database did not answer in time",
            Self::DuplicateKey => "something else has this key already",
            Self::WriteConflict => "somebody else changes the same at the moment",
            Self::InvalidPage => "there is no such page: pass `next` of the page before as it was given",
            Self::InvalidDocument => "the database refuses it as invalid",
            Self::Unsupported => "the database cannot do that",
            Self::ClientGone | Self::Data | Self::Misconfigured | Self::Failed => "",
        }
    }

    fn problem(self) -> Problem {
        let problem = Problem::new(self.status()).with_detail(self.detail());
        match self {
            Self::Unavailable | Self::Busy | Self::TimedOut => problem.with_retry_after(RETRY_AFTER),
            _ => problem,
        }
    }
}

/// The status that nginx's log has for it.
fn client_closed_request() -> StatusCode {
    StatusCode::from_u16(499).expect("three digits")
}

impl From<DriverError> for MongoError {
    fn from(error: DriverError) -> Self {
        Self { cause: Some(Cause::Driver(Box::new(error.clone()))), ..Self::of_kind(kind_of(&error)) }
    }
}

impl From<mongodb::bson::error::Error> for MongoError {
    fn from(error: mongodb::bson::error::Error) -> Self {
        Self::because(MongoErrorKind::Data, error)
    }
}

fn kind_of(error: &DriverError) -> MongoErrorKind {
    match &*error.kind {
        DriverErrorKind::ServerSelection { .. }
        | DriverErrorKind::Io(_)
        | DriverErrorKind::ConnectionPoolCleared { .. }
        | DriverErrorKind::DnsResolve { .. }
        | DriverErrorKind::Shutdown => MongoErrorKind::Unavailable,
        DriverErrorKind::Command(error) if knows_no_transactions(error) => MongoErrorKind::Unsupported,
        DriverErrorKind::Command(error) if takes_anothers_key(error) => MongoErrorKind::DuplicateKey,
        DriverErrorKind::Command(error) => kind_of_code(error.code),
        DriverErrorKind::Write(WriteFailure::WriteError(error)) => kind_of_code(error.code),
        DriverErrorKind::Write(WriteFailure::WriteConcernError(error)) => kind_of_code(error.code),
        DriverErrorKind::InsertMany(error) => {
            let first = error.write_errors.iter().flatten().next();
            first.map_or(MongoErrorKind::Failed, |error| kind_of_code(error.code))
        }
        DriverErrorKind::SessionsNotSupported | DriverErrorKind::IncompatibleServer { .. } => {
            MongoErrorKind::Unsupported
        }
        DriverErrorKind::Bson(_) | DriverErrorKind::InvalidResponse { .. } => MongoErrorKind::Data,
        DriverErrorKind::InvalidTlsConfig { .. } | DriverErrorKind::Authentication { .. } => {
            MongoErrorKind::Misconfigured
        }
        _ => MongoErrorKind::Failed,
    }
}

/// FerretDB does not know the field; a MongoDB without a replica set has a code of its own for it.
fn knows_no_transactions(error: &CommandError) -> bool {
    error.code == code::FAILED_TO_PARSE && error.message.contains("startTransaction")
}

/// FerretDB has no code of its own for an update that a unique index forbids, and says what its SQLite said.
fn takes_anothers_key(error: &CommandError) -> bool {
    error.code == code::INTERNAL_ERROR && error.message.contains("UNIQUE constraint failed")
}

fn kind_of_code(code: i32) -> MongoErrorKind {
    match code {
        code::ILLEGAL_OPERATION | code::COMMAND_NOT_FOUND | code::NOT_IMPLEMENTED => {
            MongoErrorKind::Unsupported
        }
        code::MAX_TIME_EXPIRED => MongoErrorKind::TimedOut,
        code::WRITE_CONFLICT => MongoErrorKind::WriteConflict,
        code::VALIDATION => MongoErrorKind::InvalidDocument,
        code::UNAUTHORIZED | code::AUTHENTICATION_FAILED => MongoErrorKind::Misconfigured,
        code if code::DUPLICATE_KEY.contains(&code) => MongoErrorKind::DuplicateKey,
        _ => MongoErrorKind::Failed,
    }
}

impl fmt::Display for MongoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind.detail() {
            "" => self.kind.label(),
            detail => detail,
        };
        match &self.cause {
            None => f.write_str(what),
            Some(Cause::Driver(error)) => write!(f, "{what}: {}", error.kind),
            Some(Cause::Text(text)) => write!(f, "{what}: {text}"),
        }
    }
}

/// Its source is the [`Problem`] that a client is told.
impl std::error::Error for MongoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.problem)
    }
}

impl IntoResponse for MongoError {
    fn into_response(self) -> Response {
        tayet::Error::from(self).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(error: MongoError) -> (u16, Option<String>) {
        let response = error.into_response();
        let retry_after =
            response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), retry_after)
    }

    fn refused(code: i32) -> MongoError {
        MongoError::of_write(code, "refused")
    }

    #[test]
    fn what_the_server_says_becomes_a_status() {
        for (code, status) in
            [(11_000, 409), (112, 409), (121, 422), (50, 503), (20, 501), (13, 500), (2, 500)]
        {
            assert_eq!(refused(code).kind().status(), status, "{code}");
            assert_eq!(answer(refused(code)).0, status, "{code}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_worth_another_try() {
        let broken = DriverError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        let broken = MongoError::from(broken);
        assert!(broken.blames_server());
        assert_eq!(answer(broken), (503, Some("1".to_owned())));
        assert_eq!(answer(MongoError::left_alone(Duration::from_millis(2_500))), (503, Some("3".to_owned())));
        assert!(!refused(11_000).blames_server());
    }

    #[test]
    fn the_databases_words_are_not_shown() {
        let error = MongoError::of_write(2, "unknown operator: $secret");
        assert!(error.to_string().contains("$secret"));
        assert_eq!(error.problem().detail(), "");
        let error = tayet::Error::from(MongoError::of_write(11_000, "dup key: { email: \"a@b\" }"));
        assert_eq!(error.status(), StatusCode::CONFLICT);
        assert!(error.to_string().contains("a@b"), "for the log");
    }
}
