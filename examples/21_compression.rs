//! Answers that are compressed as the client prefers, and uploads that were.
//!
//! `Compression` chooses by `Accept-Encoding` among gzip, deflate, br and zstd. Small answers and pictures are left alone,
//! large and written ones are compressed while they are sent. `Decompression` lets handlers read compressed bodies as any
//! other, and limits what they may become.
//!
//! ```console
//! $ cargo run --example 21_compression
//! $ curl -s --compressed http://127.0.0.1:8080/poem | head -n 1
//! Warp and weft, warp and weft.
//! $ curl -s -D - -o /dev/null -H 'Accept-Encoding: br;q=0.5, gzip' http://127.0.0.1:8080/poem | grep -i -E 'encoding:|length'
//! content-encoding: gzip
//! content-length: ...
//! $ curl -s -D - -o /dev/null -H 'Accept-Encoding: gzip' http://127.0.0.1:8080/verse | grep -i -E 'encoding:|length'
//! content-length: 30
//! $ curl -s -N -H 'Accept-Encoding: gzip' http://127.0.0.1:8080/loom | gunzip | tail -n 1
//! thread 5
//! $ yes thread | head -n 100000 | gzip | curl -s -H 'Content-Encoding: gzip' --data-binary @- http://127.0.0.1:8080/lines
//! 100000 lines
//! $ yes thread | head -n 200000 | gzip | curl -s -H 'Content-Encoding: gzip' --data-binary @- http://127.0.0.1:8080/lines
//! {"title":"Payload Too Large","status":413,"detail":"the body is larger than 1000000 bytes"}
//! ```

use std::io::{BufRead, BufReader, Write};
use std::thread;
use std::time::Duration;

use tayet::{Body, BodyStream, Compression, ContentCoding, Decompression, IntoResponse, Router, Server};

const VERSE: &str = "Warp and weft, warp and weft.\n";

/// Comes thread by thread: what is flushed is sent at once, compressed or not.
fn loom() -> impl IntoResponse {
    let body = Body::from_writer(|out| {
        for number in 1..=5 {
            writeln!(out, "thread {number}")?;
            out.flush()?;
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    });
    ([("content-type", "text/plain")], body)
}

fn lines(body: BodyStream) -> tayet::Result<String> {
    let mut count = 0;
    for line in BufReader::new(body).lines() {
        line?;
        count += 1;
    }
    Ok(format!("{count} lines\n"))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/poem");
    let app = Router::new()
        .get("/poem", || VERSE.repeat(1000))
        .get("/verse", || VERSE)
        .get("/loom", loom)
        .post("/lines", lines)
        .layer(Compression::new().level(ContentCoding::Gzip, 6))
        .layer(Decompression::new().max_inflated_bytes(1_000_000));
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
