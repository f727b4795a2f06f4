use std::{env, io};

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use topics::Topics;

/// The default of 128 KiB a socket would make memory another kind of figure.
const READ_BUFFER_BYTES: usize = 4096;

static TOPICS: Topics<Utf8Bytes> = Topics::new();

type Socket = WebSocketStream<TcpStream>;

async fn serve(stream: TcpStream) -> tokio_tungstenite::tungstenite::Result<()> {
    stream.set_nodelay(true)?;
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the library's callback is like this")]
    let see_path = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        request.uri().path().clone_into(&mut path);
        Ok(response)
    };
    let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
    let socket = accept_hdr_async_with_config(stream, see_path, Some(config)).await?;
    match path.strip_prefix("/ws/topic/") {
        Some(name) => converse(socket, name).await,
        None => echo(socket).await,
    }
}

async fn echo(mut socket: Socket) -> tokio_tungstenite::tungstenite::Result<()> {
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() || message.is_binary() {
            socket.send(message).await?;
        }
    }
    Ok(())
}

async fn converse(mut socket: Socket, topic: &str) -> tokio_tungstenite::tungstenite::Result<()> {
    let (sender, mut receiver) = TOPICS.join(topic);
    loop {
        tokio::select! {
            message = socket.next() => match message {
                // This socket is subscribed, so there is a receiver.
                Some(Ok(Message::Text(text))) => drop(sender.send(text)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            },
            published = receiver.recv() => {
                let Ok(text) = published else { return Ok(()) };
                socket.send(Message::Text(text)).await?;
            }
        }
    }
}

async fn accept(address: String) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        // A socket that fails ends its task; there is nobody to tell.
        tokio::spawn(async { drop(serve(stream).await) });
    }
}

fn main() -> io::Result<()> {
    let address = env::args().nth(1).expect("usage: peer-tungstenite ADDRESS");
    // As many workers as cores is the runtime's default.
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(accept(address))
}
