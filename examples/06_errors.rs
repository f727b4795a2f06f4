//! Errors: question marks in handlers, statuses of one's own, and panics.
//!
//! What goes wrong inside is logged and answered with a bare 500; clients learn only what was written for them.
//!
//! ```console
//! $ cargo run --example 06_errors
//! $ curl -w '%{http_code}\n' http://127.0.0.1:8080/poems/loom
//! {"title":"Internal Server Error","status":500}
//! 500
//! $ curl -w '%{http_code}\n' http://127.0.0.1:8080/sum/2/three
//! {"title":"Bad Request","status":400,"detail":"both must be numbers"}
//! 400
//! $ curl -w '%{http_code}\n' http://127.0.0.1:8080/divide/6/0
//! nothing can be divided by 0
//! 422
//! $ curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/panic
//! 500
//! ```

use std::fs;

use tayet::{IntoResponse, OrStatus, Path, Response, Router, Server, StatusCode};

/// Any error can be returned: it becomes a 500, and is logged with its causes.
fn poem(Path(name): Path<String>) -> tayet::Result<String> {
    Ok(fs::read_to_string(format!("no/such/directory/{name}"))?)
}

/// Where the client is to blame, it is told.
fn sum(Path((a, b)): Path<(String, String)>) -> tayet::Result<String> {
    let number =
        |text: String| text.parse::<i64>().or_status(StatusCode::BAD_REQUEST, "both must be numbers");
    Ok(format!("{}\n", number(a)? + number(b)?))
}

/// An error type of one's own says what it looks like.
struct DividedByZero;

impl IntoResponse for DividedByZero {
    fn into_response(self) -> Response {
        (StatusCode::UNPROCESSABLE_ENTITY, "nothing can be divided by 0\n").into_response()
    }
}

fn divide(Path((a, b)): Path<(i64, i64)>) -> Result<String, DividedByZero> {
    a.checked_div(b).map(|quotient| format!("{quotient}\n")).ok_or(DividedByZero)
}

fn panic() -> &'static str {
    panic!("even this ends one request only")
}

fn main() -> tayet::Result {
    tracing_subscriber::fmt().init();
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    let app = Router::new()
        .get("/poems/{name}", poem)
        .get("/sum/{a}/{b}", sum)
        .get("/divide/{a}/{b}", divide)
        .get("/panic", panic);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
