//! Errors of handlers.

use std::fmt;
use std::io;

use http::StatusCode;
use tayet_engine::BodyError;

use crate::{IntoResponse, MultipartError, Problem, Rejection, Response};

/// The result of a handler or of `main`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Any error, as a response: what `?` makes of the errors in a handler.
///
/// A client sees a bare 500; the error and its causes are logged. The errors of reading a request ([`BodyError`],
/// [`Rejection`], [`MultipartError`]) keep their own status, a disk that is full is a 507, and an error that names a
/// [`Problem`] among its causes is answered with that. [`Error::new`] and [`OrStatus`] make errors that the client is told about.
///
/// ```
/// use tayet::{OrStatus, Path, Router, StatusCode};
///
/// fn motd(Path(day): Path<String>) -> tayet::Result<String> {
///     let day: u8 = day.parse().or_status(StatusCode::BAD_REQUEST, "a day is a number")?;
///     Ok(std::fs::read_to_string(format!("motd/{day}"))?)
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().get("/motd/{day}", motd));
/// assert_eq!(client.get("/motd/x").send().status(), 400);
/// assert_eq!(client.get("/motd/1").send().status(), 500);
/// ```
pub struct Error {
    problem: Problem,
    source: Option<Source>,
}

type Source = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// An error that the client is told about in these words.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { problem: Problem::new(status).with_detail(detail.into()), source: None }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.problem = Problem::new(status).with_detail(self.problem.detail().to_owned());
        self
    }

    /// The same with words for the client.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.problem = self.problem.with_detail(detail.into());
        self
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.problem.status()
    }

    /// The error that it was made of.
    pub fn source(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// A server's own fault is logged with all its causes, since the client does not learn of them.
    fn log(&self) {
        if let (true, Some(source)) = (self.status().is_server_error(), &self.source) {
            tracing::error!(status = self.status().as_u16(), "a handler failed: {}", Chain(source.as_ref()));
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let problem = problem_of(&error).unwrap_or(Problem::new(StatusCode::INTERNAL_SERVER_ERROR));
        Self { problem, source: Some(Box::new(error)) }
    }
}

/// What a client is told of the errors that are about its request.
fn problem_of(error: &(dyn std::error::Error + 'static)) -> Option<Problem> {
    if let Some(rejection) = error.downcast_ref::<Rejection>() {
        return Some(rejection.problem());
    }
    if let Some(error) = error.downcast_ref::<BodyError>() {
        return Some(Rejection::Body(*error).problem());
    }
    if let Some(error) = error.downcast_ref::<MultipartError>() {
        return Some(Rejection::Multipart(error.clone()).problem());
    }
    if let Some(problem) = problem_among_causes(error) {
        return Some(problem);
    }
    let error = error.downcast_ref::<io::Error>()?;
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return Some(Problem::new(StatusCode::INSUFFICIENT_STORAGE));
    }
    // Where a body is read as `std::io::Read`.
    problem_of(error.get_ref()?)
}

fn problem_among_causes(error: &(dyn std::error::Error + 'static)) -> Option<Problem> {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(<dyn std::error::Error>::downcast_ref)
        .cloned()
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        self.log();
        self.problem.into_response()
    }
}

/// As `main` prints it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.problem.detail(), &self.source) {
            ("", None) => self.status().fmt(f),
            ("", Some(source)) => Chain(source.as_ref()).fmt(f),
            (detail, None) => f.write_str(detail),
            (detail, Some(source)) => write!(f, "{detail}: {}", Chain(source.as_ref())),
        }
    }
}

/// An error with its causes.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// Choosing the status of what went wrong.
pub trait OrStatus<T> {
    /// The value, or an error of this status that the client is told about in these words. What it came from is kept for
    /// the log.
    ///
    /// # Errors
    ///
    /// When there is no value.
    fn or_status(self, status: StatusCode, detail: impl Into<String>) -> Result<T>;
}

impl<T, E: std::error::Error + Send + Sync + 'static> OrStatus<T> for std::result::Result<T, E> {
    fn or_status(self, status: StatusCode, detail: impl Into<String>) -> Result<T> {
        self.map_err(|error| Error { source: Some(Box::new(error)), ..Error::new(status, detail) })
    }
}

impl<T> OrStatus<T> for Option<T> {
    fn or_status(self, status: StatusCode, detail: impl Into<String>) -> Result<T> {
        self.ok_or_else(|| Error::new(status, detail))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug)]
    struct Outer<E>(E);

    impl<E> fmt::Display for Outer<E> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("reading the menu")
        }
    }

    impl<E: std::error::Error + 'static> std::error::Error for Outer<E> {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    fn of(error: impl Into<Error>) -> Error {
        error.into()
    }

    #[test]
    fn only_the_clients_own_faults_are_shown() {
        let secret = of(io::Error::other("the password is 1234"));
        assert_eq!((secret.status(), secret.problem.detail()), (StatusCode::INTERNAL_SERVER_ERROR, ""));
        let large = of(BodyError::TooLarge { limit_bytes: 9 });
        assert_eq!(
            (large.status(), large.problem.detail()),
            (StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 9 bytes")
        );
        let read = of(io::Error::from(BodyError::TooSlow));
        assert_eq!(read.status(), StatusCode::REQUEST_TIMEOUT);
        let form = of(io::Error::from(MultipartError::Truncated));
        assert_eq!(
            (form.status(), form.problem.detail()),
            (StatusCode::BAD_REQUEST, "the form ends before its last boundary")
        );
        let full = of(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!((full.status(), full.problem.detail()), (StatusCode::INSUFFICIENT_STORAGE, ""));
        let busy =
            Problem::new(StatusCode::SERVICE_UNAVAILABLE).with_retry_after(Duration::from_millis(1_001));
        let answer = of(io::Error::other(Outer(busy))).into_response();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "2");
        let missing = of(Rejection::Missing("host"));
        assert_eq!(missing.status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn main_prints_the_whole_chain() {
        let error = of(Outer(io::Error::other("no such dish")));
        assert_eq!(format!("{error:?}"), "reading the menu: no such dish");
        assert_eq!(
            format!("{:?}", error.with_detail("no lunch")),
            "no lunch: reading the menu: no such dish"
        );
    }
}
