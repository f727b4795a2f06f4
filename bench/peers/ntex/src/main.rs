use std::{env, thread};

use ntex::http::{HttpServiceConfig, KeepAlive};
use ntex::time::{Millis, Seconds, sleep};
use ntex::{SharedCfg, web};
use serde::Deserialize;

#[derive(Deserialize)]
struct Multiplier {
    m: u64,
}

#[web::get("/")]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[web::get("/json/{count}")]
async fn json(count: web::types::Path<usize>, query: web::types::Query<Multiplier>) -> web::HttpResponse {
    web::HttpResponse::Ok().json(&dataset::answer(*count, query.m))
}

#[web::get("/sleep/{ms}")]
async fn sleep_ms(ms: web::types::Path<u32>) -> &'static str {
    sleep(Millis(*ms)).await;
    "ok"
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-ntex ADDRESS");
    // The default of 5 s would close the idle connections while they are measured.
    let keep_alive = HttpServiceConfig::new().set_keepalive(KeepAlive::Timeout(Seconds(60)));
    web::HttpServer::new(async || web::App::new().service((hello, json, sleep_ms)))
        .workers(thread::available_parallelism()?.get())
        .config(SharedCfg::new("PEER").add(keep_alive))
        .bind(address)?
        .run()
        .await
}
