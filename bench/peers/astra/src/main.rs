use std::{env, io, thread, time::Duration};

use astra::{Body, ConnectionInfo, Request, Response, ResponseBuilder, Server};
use dataset::Target;

fn handle(request: Request, _: ConnectionInfo) -> Response {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    match Target::parse(target) {
        Target::Hello => answer("text/plain", "Hello, World!".into()),
        Target::Json { count, m } => {
            let body = serde_json::to_vec(&dataset::answer(count, m)).expect("an answer serialises");
            answer("application/json", body)
        }
        Target::SleepMs(ms) => {
            thread::sleep(Duration::from_millis(ms));
            answer("text/plain", "ok".into())
        }
        Target::Unknown => ResponseBuilder::new().status(404).body(Body::empty()).expect("a status is valid"),
    }
}

fn answer(content_type: &'static str, body: Vec<u8>) -> Response {
    // Without its length, it would be sent in chunks, which is other work than the other peers do.
    let response =
        ResponseBuilder::new().header("Content-Type", content_type).header("Content-Length", body.len());
    response.body(Body::new(body)).expect("the headers are valid")
}

fn main() -> io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-astra ADDRESS");
    Server::bind(address).serve(handle)
}
