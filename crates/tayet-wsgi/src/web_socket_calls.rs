//! Calls of the application for requests that ask for a WebSocket. Each has a thread of its own: it may last for as long as
//! the socket does, and is to take neither a loop's thread nor one of the pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tayet::{Detached, IntoResponse, Method, Problem, Request, Response, StatusCode, WebSocketUpgrade};

use crate::application::Application;
use crate::attachment::attached;

/// How long the end of a server waits for calls whose sockets are closed.
pub(crate) const CALLS_END_TIMEOUT_MS: u64 = 30_000;

/// The calls under way.
pub(crate) struct WebSocketCalls {
    max_threads: usize,
    running: Mutex<usize>,
    ended: Condvar,
}

impl WebSocketCalls {
    /// So many at once, and no more.
    pub(crate) fn new(max_threads: usize) -> Self {
        Self { max_threads, running: Mutex::new(0), ended: Condvar::new() }
    }

    /// Calls the application on another thread, which answers.
    pub(crate) fn begin(self: &Arc<Self>, application: &Arc<Application>, request: &mut Request) -> Response {
        let Some(place) = self.enter() else { return busy("too many WebSockets are being served") };
        let (detached, application) = (request.detach(), Arc::clone(application));
        let named = thread::Builder::new().name("tayet-websocket".to_owned());
        // A thread that cannot be started drops the request, which then answers 500.
        if let Err(error) = named.spawn(move || call(&application, detached, place)) {
            tracing::error!(%error, "no thread could be started for a WebSocket");
        }
        Response::default()
    }

    /// How many there are.
    pub(crate) fn running(&self) -> usize {
        *self.lock()
    }

    /// Waits until there are none; `false` when that takes longer than `limit`.
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut running = self.lock();
        while *running > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            running = self.ended.wait_timeout(running, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn enter(self: &Arc<Self>) -> Option<Place> {
        let mut running = self.lock();
        if *running >= self.max_threads {
            return None;
        }
        *running += 1;
        Some(Place(Arc::clone(self)))
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's place among those that may run.
struct Place(Arc<WebSocketCalls>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.ended.notify_all();
    }
}

/// Whether a request asks for a WebSocket, be it wrongly (RFC 6455 section 4.2.1).
pub(crate) fn asks_for_web_socket(request: &Request) -> bool {
    let lists = |value: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case("websocket"));
    request.method() == Method::GET && request.header("upgrade").is_some_and(lists)
}

fn call(application: &Application, mut request: Detached, _place: Place) {
    let upgrade = WebSocketUpgrade::of(&request);
    let called = catch_unwind(AssertUnwindSafe(|| {
        attached(|py: Python<'_>| application.answer_for_web_socket(py, &mut request, upgrade))
    }));
    // After a panic it is dropped, and so answered.
    if let Ok(response) = called {
        request.respond(response);
    }
}

fn busy(detail: &'static str) -> Response {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE).with_detail(detail).into_response()
}
