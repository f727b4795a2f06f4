use std::{env, thread, time::Duration};

use actix_web::{App, HttpServer, Responder, get, web};
use serde::Deserialize;

#[derive(Deserialize)]
struct Multiplier {
    m: u64,
}

#[get("/")]
async fn hello() -> &'static str {
    "Hello, World!"
}

#[get("/blocking")]
async fn blocking() -> actix_web::Result<impl Responder> {
    Ok(web::block(|| "Hello, World!").await?)
}

#[get("/json/{count}")]
async fn json(count: web::Path<usize>, query: web::Query<Multiplier>) -> impl Responder {
    web::Json(dataset::answer(*count, query.m))
}

#[get("/sleep/{ms}")]
async fn sleep(ms: web::Path<u64>) -> actix_web::Result<impl Responder> {
    web::block(move || thread::sleep(Duration::from_millis(*ms))).await?;
    Ok("ok")
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-actix ADDRESS");
    HttpServer::new(|| App::new().service(hello).service(blocking).service(json).service(sleep))
        .workers(thread::available_parallelism()?.get())
        // The default of 5 s would close the idle connections while they are measured.
        .keep_alive(Duration::from_secs(60))
        .bind(address)?
        .run()
        .await
}
