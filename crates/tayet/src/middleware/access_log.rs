//! A line for every request.

mod entry;
mod log_queue;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::StatusCode;

use self::entry::Entry;
use self::log_queue::LogQueue;
use super::{Middleware, Next, RequestId, amend};
use crate::{Request, Response};

/// Writes a line for every request that reached a handler inside of it.
///
/// Handlers are not made to wait for the disk: their lines go into a queue of
/// [`queue_entries`](AccessLog::queue_entries), from which a thread writes them. When the queue is full, lines are dropped
/// and counted; the count is logged as a warning and is in [`AccessLog::dropped`]. Lines are written and flushed soon after
/// they came, and what is queued when the server has stopped, or when the last clone is dropped, is written first: a writer
/// that hangs is waited for no longer than [`ACCESS_LOG_FLUSH_TIMEOUT_MS`].
///
/// A request that is answered later ([`Request::defer`]) is logged without a status, when its handler returns. What the
/// server refuses before there is a route is not logged here.
///
/// ```
/// use tayet::{AccessLog, Router};
///
/// # let file = std::env::temp_dir().join(format!("tayet-access-{}.log", std::process::id()));
/// # let path = file.clone();
/// # fn run(path: std::path::PathBuf) -> std::io::Result<()> {
/// let log = AccessLog::combined().to_file(path)?;
/// let app: Router = Router::new().get("/", || "hello").layer(log);
/// # tayet::testing::TestClient::new(app).get("/?q").send();
/// # Ok(())
/// # }
/// # run(path).unwrap();
/// # let text = std::fs::read_to_string(&file).unwrap();
/// # std::fs::remove_file(&file).unwrap();
/// # assert!(text.contains("\"GET /?q HTTP/1.1\" 200 5 \"-\" \"-\"\n"), "{text}");
/// ```
#[derive(Clone)]
pub struct AccessLog {
    format: AccessLogFormat,
    queue: Arc<LogQueue>,
}

/// What a line of an [`AccessLog`] is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// The Common Log Format: `192.0.2.1 - - [21/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 13`.
    Common,
    /// The same with `"referer" "user agent"` behind.
    Combined,
    /// An object: `time`, `remote`, `method`, `target`, `version`, `status`, `bytes`, `duration_us`, `route`, and where they
    /// are there, `referer`, `user_agent`, `request_id`.
    Json,
}

/// How many lines may wait to be written, unless [`AccessLog::queue_entries`] says otherwise.
pub const DEFAULT_ACCESS_LOG_QUEUE_ENTRIES: usize = 8_192;

/// How long the end of a server, and dropping the last clone of its [`AccessLog`], wait for what is queued to be written, in
/// milliseconds.
pub const ACCESS_LOG_FLUSH_TIMEOUT_MS: u64 = 5_000;

impl AccessLog {
    /// A log of this format to the standard output.
    pub fn new(format: AccessLogFormat) -> Self {
        let queue = LogQueue::new(Box::new(io::stdout()), format, DEFAULT_ACCESS_LOG_QUEUE_ENTRIES);
        Self { format, queue: Arc::new(queue) }
    }

    /// In the Common Log Format.
    pub fn common() -> Self {
        Self::new(AccessLogFormat::Common)
    }

    /// In the combined format.
    pub fn combined() -> Self {
        Self::new(AccessLogFormat::Combined)
    }

    /// In JSON.
    pub fn json() -> Self {
        Self::new(AccessLogFormat::Json)
    }

    /// The same, appended to a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened; the message names it.
    pub fn to_file(self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot open the access log {}: {error}", path.display()))
        })?;
        Ok(self.to_writer(file))
    }

    /// The same, to this writer.
    #[must_use]
    pub fn to_writer(self, writer: impl Write + Send + 'static) -> Self {
        let queue = LogQueue::new(Box::new(writer), self.format, self.queue.capacity_entries());
        Self { queue: Arc::new(queue), ..self }
    }

    /// The same with room for this many lines that wait to be written. Default:
    /// [`DEFAULT_ACCESS_LOG_QUEUE_ENTRIES`].
    #[must_use]
    pub fn queue_entries(self, capacity_entries: usize) -> Self {
        self.queue.set_capacity_entries(capacity_entries);
        self
    }

    /// How many lines were dropped since the queue was full.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }
}

impl AccessLog {
    /// All but what is known of the answer: so far, that there is none.
    fn entry(&self, time: SystemTime, request: &Request, next: Next<'_>) -> Entry {
        let is_long = self.format != AccessLogFormat::Common;
        let header = |name| request.header(name).filter(|_| is_long).map(str::to_owned);
        let request_id = request.extensions().and_then(|extensions| extensions.get::<RequestId>());
        Entry {
            time,
            duration: Duration::ZERO,
            remote: request.remote_addr(),
            method: request.method().clone(),
            target: request.target().to_owned(),
            version: request.version(),
            status: StatusCode::INTERNAL_SERVER_ERROR,
            body_bytes: None,
            route: next.route().clone(),
            referer: header("referer"),
            user_agent: header("user-agent"),
            request_id: request_id.filter(|_| is_long).cloned(),
        }
    }
}

impl Middleware for AccessLog {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        let (time, start) = (SystemTime::now(), Instant::now());
        // The request alone outlives a panic, and it is only read again.
        let answered = catch_unwind(AssertUnwindSafe(|| next.run(request)));
        let entry = self.entry(time, request, next);
        match answered {
            Ok(mut response) => {
                amend(self, request, &mut response, move |log, response| {
                    let (status, body_bytes) = (response.status(), response.body().length());
                    log.queue.push(Entry { duration: start.elapsed(), status, body_bytes, ..entry });
                });
                response
            }
            Err(panic) => {
                self.queue.push(Entry { duration: start.elapsed(), ..entry });
                resume_unwind(panic)
            }
        }
    }

    fn stopped(&self) {
        self.queue.flush();
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").field("format", &self.format).finish_non_exhaustive()
    }
}

impl fmt::Display for AccessLogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Common => "common",
            Self::Combined => "combined",
            Self::Json => "json",
        })
    }
}

impl FromStr for AccessLogFormat {
    type Err = InvalidAccessLogFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "common" => Ok(Self::Common),
            "combined" => Ok(Self::Combined),
            "json" => Ok(Self::Json),
            _ => Err(InvalidAccessLogFormat(text.to_owned())),
        }
    }
}

/// A text that names no format of an access log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAccessLogFormat(String);

impl fmt::Display for InvalidAccessLogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no format of an access log: common, combined or json", self.0)
    }
}

impl std::error::Error for InvalidAccessLogFormat {}
