//! JSON in and out.
//!
//! A body that is not JSON is answered 400, one that is not of the wanted form 422; both say where.
//!
//! ```console
//! $ cargo run --example 03_json
//! $ curl --json '{"cloth": "linen", "metres": 3}' http://127.0.0.1:8080/orders
//! {"cloth":"linen","metres":3,"price":36}
//! $ curl -H 'Accept: text/plain' --json '{"cloth": "linen", "metres": "3"}' http://127.0.0.1:8080/orders
//! 422 Unprocessable Entity: the body's JSON is not of the expected form: `metres`: invalid type: string "3", expected u32 at line 1 column 32
//! ```

use serde::{Deserialize, Serialize};
use tayet::{Json, Router, Server, StatusCode};

#[derive(Deserialize)]
struct Order {
    cloth: String,
    metres: u32,
}

#[derive(Serialize)]
struct Quote {
    cloth: String,
    metres: u32,
    price: u32,
}

fn order(Json(order): Json<Order>) -> (StatusCode, Json<Quote>) {
    let price = order.metres * 12;
    (StatusCode::CREATED, Json(Quote { cloth: order.cloth, metres: order.metres, price }))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let app = Router::new().post("/orders", order);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
