use std::{env, thread, time::Duration};

use actix_web::middleware::Compress;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, Responder, get, post, rt, web};
use actix_ws::{Message, MessageStream, Session};
use bytestring::ByteString;
use futures_util::StreamExt;
use serde::Deserialize;
use topics::Topics;

static TOPICS: Topics<ByteString> = Topics::new();

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

/// Its level of gzip cannot be chosen: it is 1.
#[get("/json-comp/{count}", wrap = "Compress::default()")]
async fn compressed_json(count: web::Path<usize>, query: web::Query<Multiplier>) -> impl Responder {
    web::Json(dataset::answer(*count, query.m))
}

/// Counts the bytes as they come, and keeps none.
#[post("/upload")]
async fn upload(mut body: web::Payload) -> actix_web::Result<String> {
    let mut bytes = 0;
    while let Some(piece) = body.next().await {
        bytes += piece?.len();
    }
    Ok(bytes.to_string())
}

#[get("/sleep/{ms}")]
async fn sleep(ms: web::Path<u64>) -> actix_web::Result<impl Responder> {
    web::block(move || thread::sleep(Duration::from_millis(*ms))).await?;
    Ok("ok")
}

#[get("/ws")]
async fn echo(request: HttpRequest, body: web::Payload) -> actix_web::Result<HttpResponse> {
    let (response, mut session, mut messages) = actix_ws::handle(&request, body)?;
    rt::spawn(async move {
        while let Some(Ok(message)) = messages.recv().await {
            let sent = match message {
                Message::Text(text) => session.text(text).await,
                Message::Binary(bytes) => session.binary(bytes).await,
                Message::Close(_) => return,
                _ => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(response)
}

#[get("/ws/topic/{name}")]
async fn topic(
    name: web::Path<String>,
    request: HttpRequest,
    body: web::Payload,
) -> actix_web::Result<HttpResponse> {
    let (response, session, messages) = actix_ws::handle(&request, body)?;
    rt::spawn(async move { converse(session, messages, &name).await });
    Ok(response)
}

async fn converse(mut session: Session, mut messages: MessageStream, name: &str) {
    let (sender, mut receiver) = TOPICS.join(name);
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                // This socket is subscribed, so there is a receiver.
                Some(Ok(Message::Text(text))) => drop(sender.send(text)),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            published = receiver.recv() => {
                let Ok(text) = published else { return };
                if session.text(text).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-actix ADDRESS");
    HttpServer::new(|| {
        App::new().service((hello, blocking, json, compressed_json, upload, sleep, echo, topic))
    })
    .workers(thread::available_parallelism()?.get())
    // The default of 5 s would close the idle connections while they are measured.
    .keep_alive(Duration::from_secs(60))
    .bind(address)?
    .run()
    .await
}
