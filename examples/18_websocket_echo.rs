//! A WebSocket that sends back what it gets, and a page to try it.
//!
//! A closure that takes the socket and a message is a handler. Pings, the goodbye, compression and limits are seen to. Open
//! the page in a browser; what a browser does first looks like this:
//!
//! ```console
//! $ cargo run --example 18_websocket_echo
//! $ curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/echo
//! 426
//! $ curl -s -i -m 1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
//!     -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' http://127.0.0.1:8080/echo | grep -i ^sec-websocket-accept
//! sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=
//! ```

use tayet::{Html, Message, Router, Server, WebSocket};

const PAGE: &str = r#"<!doctype html>
<html lang="en">
<title>Echo</title>
<form><label>Say <input autofocus></label></form>
<ol></ol>
<script>
  const socket = new WebSocket(location.href.replace(/^http/, "ws") + "echo");
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

fn echo(socket: &WebSocket, message: Message) {
    // One that has gone meanwhile needs no answer.
    let _ = socket.send(message);
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().get("/", || Html(PAGE)).websocket("/echo", echo);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
