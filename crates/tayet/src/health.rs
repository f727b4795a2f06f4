//! Whether the server lives, and whether it is to be given work.

use http::StatusCode;

use crate::ServerHandle;

/// For `GET /healthz`: `ok`, as long as the process can answer at all.
///
/// ```
/// use tayet::{Router, health};
///
/// let app: Router = Router::new().get("/healthz", health::live).get("/readyz", health::ready);
/// assert_eq!(tayet::testing::TestClient::new(app).get("/healthz").send().text(), "ok");
/// ```
pub fn live() -> &'static str {
    "ok"
}

/// For `GET /readyz`: `ok`, or 503 once a shutdown has begun, so that a load balancer sends no more.
pub fn ready(server: Option<ServerHandle>) -> (StatusCode, &'static str) {
    match server {
        Some(server) if server.is_shutting_down() => (StatusCode::SERVICE_UNAVAILABLE, "shutting down"),
        _ => (StatusCode::OK, "ok"),
    }
}
