//! A server with one page.
//!
//! ```console
//! $ cargo run --example 01_hello
//! $ curl http://127.0.0.1:8080/
//! Hello, World!
//! ```

use tayet::{Router, Server};

fn hello() -> &'static str {
    "Hello, World!\n"
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().get("/", hello);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
