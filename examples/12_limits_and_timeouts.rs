//! What a client may cost: sizes and times, for the whole server and for one route.
//!
//! The oracle is asked twice at the same time, at most: who comes third waits, without a thread, and is not asked for once its
//! time is up.
//!
//! Every limit has a default; `tayet::Limits` lists them. Those of the environment (`TAYET_MAX_BODY_BYTES=1000`) or of a TOML
//! file come from `tayet::Config`.
//!
//! ```console
//! $ cargo run --example 12_limits_and_timeouts
//! $ curl -d 'a short note' http://127.0.0.1:8080/notes
//! 12 bytes
//! $ curl -d 'a note that is too long' http://127.0.0.1:8080/notes
//! {"title":"Payload Too Large","status":413,"detail":"the body is larger than 16 bytes"}
//! $ curl -d 'a note that is too long' http://127.0.0.1:8080/books
//! 23 bytes
//! $ curl -s -o /dev/null -w '%{http_code}\n' http://127.0.0.1:8080/oracle
//! 503
//! ```

use std::thread;
use std::time::Duration;

use tayet::{Bytes, Config, Handler, Limits, Router, Server};

fn length(body: Bytes) -> String {
    format!("{} bytes\n", body.len())
}

fn oracle() -> &'static str {
    thread::sleep(Duration::from_secs(60));
    "42\n"
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new()
        .post("/notes", length)
        .post("/books", length.max_body_bytes(1024 * 1024))
        .get("/oracle", oracle.concurrency_limit(2).timeout(Duration::from_millis(200)));
    let limits = Limits { max_body_bytes: 16, head_timeout_ms: 5_000, ..Limits::default() };
    let config = Config::new().with_environment()?;
    Server::new(app).limits(limits).config(&config)?.bind(format!("127.0.0.1:{port}"))?.run()
}
