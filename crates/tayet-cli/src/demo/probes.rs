//! Two endpoints to compare: one that answers at once and one that blocks.

use std::thread;
use std::time::Duration;

use serde::Serialize;
use tayet::{Json, Router};

/// How long the slow endpoint holds its thread.
pub(crate) const SLOW_MS: u64 = 500;

pub(crate) fn router() -> Router {
    Router::new().get("/api/fast", fast).get("/api/slow", slow)
}

#[derive(Serialize)]
struct Answer {
    slept_ms: u64,
}

fn fast() -> Json<Answer> {
    Json(Answer { slept_ms: 0 })
}

/// As a call to a database would, or to another service. Nothing tells the server that it does.
fn slow() -> Json<Answer> {
    thread::sleep(Duration::from_millis(SLOW_MS));
    Json(Answer { slept_ms: SLOW_MS })
}
