//! Requests that are answered later, by another thread: here the one that owns the loom.
//!
//! The handler returns at once and holds no thread while the work waits its turn. A responder that is dropped answers 500, so
//! no client waits in vain.
//!
//! ```console
//! $ cargo run --example 09_answer_later
//! $ curl -X POST http://127.0.0.1:8080/weave/3
//! 3 rows woven, 3 in all
//! $ curl -X POST http://127.0.0.1:8080/weave/2
//! 2 rows woven, 5 in all
//! ```

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use tayet::{IntoResponse, Path, Request, Responder, Router, Server, State};

struct Order {
    rows: u32,
    customer: Responder,
}

fn weave(State(loom): State<Sender<Order>>, Path(rows): Path<u32>, request: &mut Request) {
    // Without a loom, the order is dropped, and so the customer hears of it.
    let _ = loom.send(Order { rows, customer: request.defer() });
}

fn run_loom(orders: &Receiver<Order>) {
    let mut total = 0;
    for Order { rows, customer } in orders {
        if customer.is_disconnected() {
            continue;
        }
        thread::sleep(Duration::from_millis(100));
        total += rows;
        customer.respond(format!("{rows} rows woven, {total} in all\n").into_response());
    }
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let (loom, orders) = channel();
    thread::spawn(move || run_loom(&orders));
    let app = Router::new().post("/weave/{rows}", weave).with_state(loom);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
