use std::{env, thread, time::Duration};

use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Query};
use axum::response::Response;
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::get};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use topics::Topics;

/// The default of 128 KiB a WebSocket would make memory another kind of figure.
const READ_BUFFER_BYTES: usize = 4096;

static TOPICS: Topics<Utf8Bytes> = Topics::new();

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

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    upgrade.read_buffer_size(READ_BUFFER_BYTES).on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            let is_data = matches!(message, Message::Text(_) | Message::Binary(_));
            if is_data && socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

async fn topic(Path(name): Path<String>, upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.read_buffer_size(READ_BUFFER_BYTES);
    upgrade.on_upgrade(async move |socket| converse(socket, &name).await)
}

async fn converse(mut socket: WebSocket, topic: &str) {
    let (sender, mut receiver) = TOPICS.join(topic);
    loop {
        tokio::select! {
            message = socket.recv() => match message {
                // This socket is subscribed, so there is a receiver.
                Some(Ok(Message::Text(text))) => drop(sender.send(text)),
                Some(Ok(_)) => {}
                _ => return,
            },
            published = receiver.recv() => {
                let Ok(text) = published else { return };
                if socket.send(Message::Text(text)).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn serve(address: String) -> std::io::Result<()> {
    let app = Router::new()
        .route("/", get(hello))
        .route("/blocking", get(blocking))
        .route("/json/{count}", get(json))
        .route("/sleep/{ms}", get(sleep))
        .route("/ws", get(echo))
        .route("/ws/topic/{name}", get(topic));
    // Without it, pipelined answers wait for the client's delayed acknowledgements.
    let listener = TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).await
}

fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-axum ADDRESS");
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(address))
}
