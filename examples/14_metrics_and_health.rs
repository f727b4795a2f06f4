//! Figures for Prometheus, with one's own among them, and what a load balancer asks.
//!
//! ```console
//! $ cargo run --example 14_metrics_and_health
//! $ curl -X POST http://127.0.0.1:8080/orders
//! order 1
//! $ curl -s http://127.0.0.1:8080/metrics | grep '^orders_total'
//! orders_total 1
//! $ curl -s http://127.0.0.1:8080/metrics | grep '^tayet_requests_total.*orders'
//! tayet_requests_total{route="POST /orders",status="200"} 1
//! $ curl http://127.0.0.1:8080/readyz
//! ok
//! ```

use tayet::metrics::Metrics;
use tayet::metrics::prometheus_client::metrics::counter::Counter;
use tayet::{Router, Server, State, health};

fn order(State(orders): State<Counter>) -> String {
    format!("order {}\n", orders.inc() + 1)
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/metrics");
    let orders = Counter::default();
    let metrics = Metrics::new();
    metrics.register(|registry| registry.register("orders", "Orders taken", orders.clone()));
    let app = Router::new()
        .post("/orders", order)
        .with_state(orders)
        .get("/metrics", metrics)
        .get("/healthz", health::live)
        .get("/readyz", health::ready);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
