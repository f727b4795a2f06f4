use std::{env, thread, time::Duration};

use axum::extract::{Path, Query};
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

#[derive(Deserialize)]
struct Multiplier {
    m: u64,
}

async fn hello() -> &'static str {
    "Hello, World!"
}

async fn blocking() -> &'static str {
    spawn_blocking(|| "Hello, World!").await.expect("the closure does not panic")
}

async fn json(Path(count): Path<usize>, Query(Multiplier { m }): Query<Multiplier>) -> Json<dataset::Answer> {
    Json(dataset::answer(count, m))
}

async fn sleep(Path(ms): Path<u64>) -> &'static str {
    spawn_blocking(move || thread::sleep(Duration::from_millis(ms)))
        .await
        .expect("the closure does not panic");
    "ok"
}

async fn serve(address: String) -> std::io::Result<()> {
    let app = Router::new()
        .route("/", get(hello))
        .route("/blocking", get(blocking))
        .route("/json/{count}", get(json))
        .route("/sleep/{ms}", get(sleep));
    // Without it, pipelined answers wait for the client's delayed acknowledgements.
    let listener = TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).await
}

fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-axum ADDRESS");
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(address))
}
