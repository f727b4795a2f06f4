//! Stopping without losing a request.
//!
//! On SIGTERM, on Ctrl-C or when it is told to, the server takes no new connections, answers what is under way, and returns
//! from `run`. A second signal ends it at once, and so does `shutdown_deadline_ms`.
//!
//! ```console
//! $ cargo run --example 13_graceful_shutdown
//! $ curl -X POST http://127.0.0.1:8080/stop
//! this answer came after the end had begun: true
//! ```

use std::thread;
use std::time::Duration;

use tayet::{Limits, Router, Server, ServerHandle};

fn stop(server: ServerHandle) -> String {
    server.shutdown();
    thread::sleep(Duration::from_millis(500));
    format!("this answer came after the end had begun: {}\n", server.is_shutting_down())
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().post("/stop", stop);
    let limits = Limits { shutdown_deadline_ms: 10_000, ..Limits::default() };
    Server::new(app).limits(limits).bind(format!("127.0.0.1:{port}"))?.run()?;
    println!("everybody has their answer: here the database would be closed");
    Ok(())
}
