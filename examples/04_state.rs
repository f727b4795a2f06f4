//! State that all requests share: here a guest book behind a lock.
//!
//! ```console
//! $ cargo run --example 04_state
//! $ curl -X POST http://127.0.0.1:8080/guests/ada
//! welcome, ada: you are guest number 1
//! $ curl -X POST http://127.0.0.1:8080/guests/grace
//! welcome, grace: you are guest number 2
//! $ curl http://127.0.0.1:8080/guests
//! ["ada","grace"]
//! ```

use std::sync::{Arc, Mutex};

use tayet::{Json, Path, Router, Server, State};

/// Cloned for each request, so what is shared stands behind an `Arc`.
#[derive(Clone, Default)]
struct GuestBook {
    names: Arc<Mutex<Vec<String>>>,
}

fn sign(State(book): State<GuestBook>, Path(name): Path<String>) -> String {
    let mut names = book.names.lock().unwrap();
    names.push(name.clone());
    format!("welcome, {name}: you are guest number {}\n", names.len())
}

fn list(State(book): State<GuestBook>) -> Json<Vec<String>> {
    Json(book.names.lock().unwrap().clone())
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app =
        Router::new().post("/guests/{name}", sign).get("/guests", list).with_state(GuestBook::default());
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
