//! What is done for many routes at once: a key that is asked for, names for requests, CORS.
//!
//! A layer stands around the routes added before it; the last one is outermost.
//!
//! ```console
//! $ cargo run --example 07_middleware
//! $ curl http://127.0.0.1:8080/
//! anybody may read this
//! $ curl -H 'Accept: text/plain' http://127.0.0.1:8080/admin/secret
//! 401 Unauthorized: X-Key is missing or wrong
//! $ curl -H 'X-Key: warp' http://127.0.0.1:8080/admin/secret
//! the secret is weft
//! $ curl -s -i -H 'X-Request-Id: order-66' http://127.0.0.1:8080/ | grep x-request-id
//! x-request-id: order-66
//! $ curl -s -i -H 'Origin: https://cloth.example' http://127.0.0.1:8080/ | grep access-control
//! access-control-allow-origin: https://cloth.example
//! ```

use tayet::{Cors, Error, Next, Request, RequestIds, Response, Router, Server, ServerTiming, StatusCode};

/// Middleware is a function that calls the next one, or does not.
fn with_key(request: &mut Request, next: Next<'_>) -> tayet::Result<Response> {
    if request.header("x-key") != Some("warp") {
        return Err(Error::new(StatusCode::UNAUTHORIZED, "X-Key is missing or wrong"));
    }
    Ok(next.run(request))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let admin = Router::new().get("/secret", || "the secret is weft\n").layer(with_key);
    let app = Router::new()
        .get("/", || "anybody may read this\n")
        .nest("/admin", admin)
        .layer(Cors::new().allow_origin("https://cloth.example"))
        .layer(ServerTiming)
        .layer(RequestIds);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
