use std::convert::Infallible;
use std::sync::Arc;
use std::{env, io};

use fastwebsockets::upgrade::{UpgradeFut, upgrade};
use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload, WebSocketError, WebSocketRead};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncRead;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::Sender;
use topics::Topics;

static TOPICS: Topics<Arc<[u8]>> = Topics::new();

async fn answer(mut request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    let (response, upgraded) = upgrade(&mut request)?;
    // A socket that fails ends its task; there is nobody to tell.
    match request.uri().path().strip_prefix("/ws/topic/") {
        Some(name) => {
            let name = name.to_owned();
            tokio::spawn(async move { drop(converse(upgraded, &name).await) })
        }
        None => tokio::spawn(async { drop(echo(upgraded).await) }),
    };
    Ok(response)
}

async fn echo(upgraded: UpgradeFut) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(upgraded.await?);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()),
            OpCode::Text | OpCode::Binary => {
                socket.write_frame(Frame::new(true, frame.opcode, None, frame.payload)).await?;
            }
            _ => {}
        }
    }
}

async fn converse(upgraded: UpgradeFut, topic: &str) -> Result<(), WebSocketError> {
    let (reader, mut writer) = upgraded.await?.split(tokio::io::split);
    let (sender, mut receiver) = TOPICS.join(topic);
    let delivery = tokio::spawn(async move {
        while let Ok(text) = receiver.recv().await {
            if writer.write_frame(Frame::text(Payload::Borrowed(&text))).await.is_err() {
                return;
            }
        }
    });
    let outcome = publish_all(reader, sender).await;
    delivery.abort();
    outcome
}

async fn publish_all<R: AsyncRead + Unpin>(
    mut reader: WebSocketRead<R>,
    sender: Sender<Arc<[u8]>>,
) -> Result<(), WebSocketError> {
    loop {
        // The load sends no pings, so nothing has to be answered from here.
        let frame = reader.read_frame::<_, WebSocketError>(&mut async |_| Ok(())).await?;
        match frame.opcode {
            OpCode::Close => return Ok(()),
            OpCode::Text => drop(sender.send(Arc::from(&*frame.payload))),
            _ => {}
        }
    }
}

async fn serve(stream: TcpStream) -> Result<(), hyper::Error> {
    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).with_upgrades().await
}

async fn accept(address: String) -> io::Result<Infallible> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async { drop(serve(stream).await) });
    }
}

fn main() -> io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-fastwebsockets ADDRESS");
    // As many workers as cores is the runtime's default.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(accept(address)).map(|never| match never {})
}
