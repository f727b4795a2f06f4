use std::{env, io, thread, time::Duration};

use dataset::Target;
use may_minihttp::{HttpServer, HttpService, Request, Response};

#[derive(Clone)]
struct Peer;

impl HttpService for Peer {
    fn call(&mut self, request: Request<'_, '_, '_>, response: &mut Response<'_>) -> io::Result<()> {
        match Target::parse(request.path()) {
            Target::Hello => response.header("Content-Type: text/plain").body("Hello, World!"),
            Target::Json { count, m } => {
                let body = serde_json::to_vec(&dataset::answer(count, m))?;
                response.header("Content-Type: application/json").body_vec(body);
            }
            Target::SleepMs(ms) => {
                may::coroutine::sleep(Duration::from_millis(ms));
                response.header("Content-Type: text/plain").body("ok");
            }
            Target::Unknown => {
                response.status_code(404, "Not Found");
            }
        }
        Ok(())
    }
}

fn main() -> io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-may-minihttp ADDRESS");
    may::config().set_workers(thread::available_parallelism()?.get());
    HttpServer(Peer).start(address)?.join().expect("the server does not panic");
    Ok(())
}
