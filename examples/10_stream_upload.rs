//! An upload that is read while it arrives, whatever its size.
//!
//! The body is a `Read`. The client cannot send faster than the handler reads, and no more than a few hundred kilobytes are in
//! memory at any time.
//!
//! ```console
//! $ cargo run --example 10_stream_upload
//! $ seq 1 1000000 | curl -s -T - http://127.0.0.1:8080/sum
//! 1000000 numbers, their sum is 500000500000
//! $ echo 'warp' | curl -s -H 'Accept: text/plain' -T - http://127.0.0.1:8080/sum
//! 400 Bad Request: "warp" is no number
//! ```

use std::io::{BufRead, BufReader};

use tayet::{BodyStream, OrStatus, Router, Server, StatusCode};

fn sum(body: BodyStream) -> tayet::Result<String> {
    let (mut count, mut sum) = (0, 0);
    for line in BufReader::new(body).lines() {
        let line = line?;
        let number = line.parse::<u64>();
        sum += number.or_status(StatusCode::BAD_REQUEST, format!("{line:?} is no number"))?;
        count += 1;
    }
    Ok(format!("{count} numbers, their sum is {sum}\n"))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().put("/sum", sum);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
