//! Handlers that sleep, wait for a database or compute, without keeping anybody else waiting.
//!
//! The server notices that a handler blocks, and goes on with other requests on another thread. It remembers which routes do
//! that, and gives them a thread of their own at once. There is nothing to declare.
//!
//! ```console
//! $ cargo run --example 05_blocking_calls
//! $ curl -s http://127.0.0.1:8080/slow & curl -s http://127.0.0.1:8080/fast; wait
//! answered at once
//! answered after a second
//! ```

use std::thread;
use std::time::Duration;

use tayet::{Router, Server};

fn slow() -> &'static str {
    thread::sleep(Duration::from_secs(1));
    "answered after a second\n"
}

fn fast() -> &'static str {
    "answered at once\n"
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/fast and http://127.0.0.1:{port}/slow");
    let app = Router::new().get("/slow", slow).get("/fast", fast);
    // One event loop alone, to show that it does not wait for the slow one.
    Server::new(app).loops(1).bind(format!("127.0.0.1:{port}"))?.run()
}
