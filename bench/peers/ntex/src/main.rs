use std::{env, io, thread};

use ntex::http::{HttpServiceConfig, KeepAlive};
use ntex::service::{fn_factory_with_config, fn_service};
use ntex::time::{Millis, Seconds, sleep};
use ntex::util::{ByteString, Bytes};
use ntex::web::ws::{self, CloseCode, Frame, Message, WsSink};
use ntex::{SharedCfg, rt, web};
use serde::Deserialize;
use tokio::sync::broadcast::Receiver;
use topics::Topics;

static TOPICS: Topics<ByteString> = Topics::new();

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

fn text(bytes: Bytes) -> io::Result<ByteString> {
    ByteString::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

async fn answer(frame: Frame) -> io::Result<Option<Message>> {
    Ok(match frame {
        Frame::Text(bytes) => Some(Message::Text(text(bytes)?)),
        Frame::Binary(bytes) => Some(Message::Binary(bytes)),
        Frame::Ping(bytes) => Some(Message::Pong(bytes)),
        Frame::Close(_) => Some(Message::Close(Some(CloseCode::Normal.into()))),
        _ => None,
    })
}

#[web::get("/ws")]
async fn echo(request: web::HttpRequest) -> Result<web::HttpResponse, web::Error> {
    let service = fn_factory_with_config(async |_| Ok::<_, web::Error>(fn_service(answer)));
    ws::start(request, None::<&str>, service).await
}

#[web::get("/ws/topic/{name}")]
async fn topic(
    name: web::types::Path<String>,
    request: web::HttpRequest,
) -> Result<web::HttpResponse, web::Error> {
    let join = fn_factory_with_config(async move |sink: WsSink| {
        let (sender, receiver) = TOPICS.join(&name);
        rt::spawn(deliver(receiver, sink));
        Ok::<_, web::Error>(fn_service(move |frame| {
            let sender = sender.clone();
            async move {
                let Frame::Text(bytes) = frame else { return answer(frame).await };
                // This socket is subscribed, so there is a receiver.
                drop(sender.send(text(bytes)?));
                Ok(None)
            }
        }))
    });
    ws::start(request, None::<&str>, join).await
}

async fn deliver(mut receiver: Receiver<ByteString>, sink: WsSink) {
    while let Ok(text) = receiver.recv().await {
        if sink.io().is_closed() || sink.send(Message::Text(text)).await.is_err() {
            return;
        }
    }
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-ntex ADDRESS");
    // The default of 5 s would close the idle connections while they are measured.
    let keep_alive = HttpServiceConfig::new().set_keepalive(KeepAlive::Timeout(Seconds(60)));
    web::HttpServer::new(async || web::App::new().service((hello, json, sleep_ms, echo, topic)))
        .workers(thread::available_parallelism()?.get())
        .config(SharedCfg::new("PEER").add(keep_alive))
        .bind(address)?
        .run()
        .await
}
