use std::{env, io, sync::Arc, thread, time::Duration};

use dataset::Target;
use tiny_http::{Header, Request, Response, Server};

/// The handlers block, so there are more of them than cores.
const THREADS: usize = 16;

fn handle(request: Request) -> io::Result<()> {
    match Target::parse(request.url()) {
        Target::Hello => answer(request, "text/plain", "Hello, World!"),
        Target::Json { count, m } => {
            answer(request, "application/json", serde_json::to_vec(&dataset::answer(count, m))?)
        }
        Target::SleepMs(ms) => {
            thread::sleep(Duration::from_millis(ms));
            answer(request, "text/plain", "ok")
        }
        Target::Unknown => request.respond(Response::empty(404)),
    }
}

fn answer(request: Request, content_type: &str, body: impl Into<Vec<u8>>) -> io::Result<()> {
    let content_type = Header::from_bytes("Content-Type", content_type).expect("the header is valid");
    request.respond(Response::from_data(body).with_header(content_type))
}

fn main() {
    let address = env::args().nth(1).expect("usage: peer-tiny-http ADDRESS");
    let server = Arc::new(Server::http(address).expect("the address is free"));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let server = Arc::clone(&server);
            // A client that has gone is its own affair.
            thread::spawn(move || server.incoming_requests().for_each(|request| drop(handle(request))))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a handler does not panic");
    }
}
