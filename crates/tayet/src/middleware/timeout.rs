//! How long handlers may take.

use std::time::Duration;

use super::{Middleware, Next};
use crate::{Request, Response, Settings};

/// Answers 503 in the place of handlers that have not answered after this long. A handler's own
/// [`timeout`](crate::Handler::timeout) prevails, and so does one further in.
///
/// The handler runs on to its end, since a thread cannot be stopped from outside; one with much to do may ask
/// [`Request::is_disconnected`].
///
/// ```
/// use std::time::Duration;
/// use tayet::{Router, Timeout};
///
/// let app: Router = Router::new().get("/", || "hello").layer(Timeout::after(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    timeout: Duration,
}

impl Timeout {
    /// A time-out of this length.
    pub fn after(timeout: Duration) -> Self {
        Self { timeout }
    }
}

/// The server does it.
impl Middleware for Timeout {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        next.run(request)
    }

    fn settings(&self) -> Settings {
        Settings { timeout: Some(self.timeout), ..Settings::default() }
    }
}
