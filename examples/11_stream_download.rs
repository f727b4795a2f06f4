//! A download that is written while it is sent, whatever its size.
//!
//! The body is a `Write`. A client that reads slowly slows its own writer down, and nobody else; when it has gone, writing is
//! an error that ends the writer.
//!
//! ```console
//! $ cargo run --example 11_stream_download
//! $ curl -N http://127.0.0.1:8080/countdown/3
//! 3
//! 2
//! 1
//! lift-off
//! $ curl -s http://127.0.0.1:8080/numbers/1000000 | tail -n 1
//! 1000000
//! ```

use std::io::Write;
use std::thread;
use std::time::Duration;

use tayet::{Body, Path, Router, Server};

fn countdown(Path(from): Path<u32>) -> Body {
    Body::from_writer(move |out| {
        for number in (1..=from).rev() {
            writeln!(out, "{number}")?;
            // Sends what there is, in place of waiting until there is more.
            out.flush()?;
            thread::sleep(Duration::from_millis(200));
        }
        writeln!(out, "lift-off")
    })
}

fn numbers(Path(to): Path<u32>) -> Body {
    Body::from_writer(move |out| (1..=to).try_for_each(|number| writeln!(out, "{number}")))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/countdown/10");
    let app = Router::new().get("/countdown/{from}", countdown).get("/numbers/{to}", numbers);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
