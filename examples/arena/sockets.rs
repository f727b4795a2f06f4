//! The arena's WebSockets.

use tayet::{
    Message, Path, Request, Response, Router, Sse, WebSocket, WebSocketConfig, WebSocketHandler,
    WebSocketUpgrade,
};

/// Largest message that is echoed or published.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

pub(crate) fn router() -> Router {
    Router::new()
        .websocket_with("/ws", config(), echo)
        .get("/ws/topic/{name}", join)
        .get("/events/{name}", |Path(name): Path<String>| Sse::topic(name))
}

fn config() -> WebSocketConfig {
    WebSocketConfig::new().max_message_bytes(MAX_MESSAGE_BYTES)
}

fn echo(socket: &WebSocket, message: Message) {
    // A peer that has gone misses nothing.
    let _ = socket.send(message);
}

/// Joins a topic: what the socket sends is published to all of it.
fn join(upgrade: WebSocketUpgrade, Path(name): Path<String>) -> Response {
    upgrade.with(config()).serve(Member { topic: name })
}

struct Member {
    topic: String,
}

impl WebSocketHandler for Member {
    fn on_open(&self, socket: &WebSocket, _: &Request) {
        if let Err(error) = socket.subscribe(&self.topic) {
            socket.close(tayet::CloseCode::POLICY_VIOLATION, &error.to_string());
        }
    }

    fn on_message(&self, socket: &WebSocket, message: Message) {
        // The name was good enough to join, and nothing is kept.
        let _ = socket.topics().publish(&self.topic, message);
    }
}
