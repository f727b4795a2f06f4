//! A chat: WebSockets in a topic, and an HTTP request that speaks to all of them.
//!
//! Open it as `http://127.0.0.1:8080/?name=ada` in one window and with another name in a second one. Below, `curl` shakes
//! hands and shows what it gets.
//!
//! ```console
//! $ cargo run --example 19_websocket_chat
//! $ curl -sd 'is anybody there?' http://127.0.0.1:8080/announcements
//! 0 have been told
//! $ curl -sN -m 4 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
//!     -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' 'http://127.0.0.1:8080/chat?name=ada' | grep -ao 'tea is ready' & \
//!     sleep 2; curl -sd 'tea is ready' http://127.0.0.1:8080/announcements; wait
//! 1 have been told
//! tea is ready
//! ```

use std::thread;
use std::time::Duration;

use tayet::{CloseCode, Closed, Html, Message, Request, Router, Server, Topics, WebSocket, WebSocketHandler};

const TOPIC: &str = "chat";

const PAGE: &str = r#"<!doctype html>
<html lang="en">
<title>Chat</title>
<form><label>Say <input autofocus></label></form>
<ol></ol>
<script>
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/chat" + location.search);
  const field = document.querySelector("input");
  document.forms[0].onsubmit = (event) => {
    event.preventDefault();
    socket.send(field.value);
    field.value = "";
  };
  socket.onmessage = ({ data }) => {
    const line = document.createElement("li");
    line.textContent = data;
    document.querySelector("ol").append(line);
  };
</script>
</html>
"#;

/// One handler serves all sockets; what belongs to one of them is kept with the socket.
struct Chat;

struct Name(String);

impl WebSocketHandler for Chat {
    fn on_open(&self, socket: &WebSocket, request: &Request) {
        let Some(name) = request.query().and_then(|query| query.strip_prefix("name=")) else {
            return socket.close(CloseCode::POLICY_VIOLATION, "say who you are: /chat?name=ada");
        };
        let announcement = format!("{name} came in");
        // It is the first value that this socket gets.
        let _ = socket.set_data(Name(name.to_owned()));
        match socket.subscribe(TOPIC) {
            Ok(()) => publish(socket.topics(), announcement),
            Err(error) => socket.close(CloseCode::INTERNAL_ERROR, &error.to_string()),
        }
    }

    fn on_message(&self, socket: &WebSocket, message: Message) {
        let (Some(Name(name)), Message::Text(text)) = (socket.data(), message) else { return };
        // As a call to a database would: it blocks, and only this socket waits. Its messages stay in order.
        thread::sleep(Duration::from_millis(20));
        publish(socket.topics(), format!("{name}: {text}"));
    }

    fn on_close(&self, socket: &WebSocket, _: &Closed) {
        if let Some(Name(name)) = socket.data() {
            publish(socket.topics(), format!("{name} left"));
        }
    }
}

fn publish(topics: &Topics, text: String) {
    topics.publish(TOPIC, text).expect("the name of the topic is short");
}

/// Publishing is for anybody, from any thread.
fn announce(topics: Topics, text: String) -> tayet::Result<String> {
    let members = topics.publish(TOPIC, text)?;
    Ok(format!("{members} have been told\n"))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/?name=ada");
    let app = Router::new().get("/", || Html(PAGE)).websocket("/chat", Chat).post("/announcements", announce);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
