//! A request that has left its handler.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use http::StatusCode;

use crate::deferral::Deferral;
use crate::worker::answer_late;
use crate::{Request, Response, problem};

/// A request that has left its handler, whole: [`Request::detach`] makes one. It is answered from any thread by all that a
/// handler could answer, a WebSocket too. Dropped unanswered, it answers 500.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Request, Response};
///
/// fn later(request: &mut Request) -> Response {
///     let mut request = request.detach();
///     std::thread::spawn(move || {
///         let length = request.bytes().map_or(0, |bytes| bytes.len());
///         request.respond(Response::new(length.to_string()));
///     });
///     Response::default()
/// }
/// ```
#[must_use = "a detached request that is dropped answers 500"]
pub struct Detached {
    /// `None` once answered.
    request: Option<Box<Request>>,
    /// What waits for the answer, to change it.
    deferral: Option<Arc<Deferral>>,
}

impl Detached {
    pub(crate) fn new(request: Request, deferral: Option<Arc<Deferral>>) -> Self {
        Self { request: Some(Box::new(request)), deferral }
    }

    /// Sends the answer, unless the request has been deferred or detached once more: then that one has it. Where the client
    /// has gone, nothing happens.
    pub fn respond(mut self, response: Response) {
        self.answer(response);
    }

    fn answer(&mut self, response: Response) {
        let Some(request) = self.request.take() else { return };
        match self.deferral.take() {
            Some(deferral) if !request.is_deferred() => {
                deferral.answer(response, Box::new(|response| answer_late(request, response)));
            }
            _ => answer_late(request, response),
        }
    }
}

impl Deref for Detached {
    type Target = Request;

    fn deref(&self) -> &Request {
        self.request.as_ref().expect("it is taken by what consumes this")
    }
}

impl DerefMut for Detached {
    fn deref_mut(&mut self) -> &mut Request {
        self.request.as_mut().expect("it is taken by what consumes this")
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let Some(request) = self.request.as_ref().filter(|request| !request.is_deferred()) else { return };
        tracing::error!("a detached request was dropped unanswered");
        let response = problem::response(StatusCode::INTERNAL_SERVER_ERROR, "", request.header("accept"));
        self.answer(response);
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Detached").field(&self.request).finish()
    }
}
