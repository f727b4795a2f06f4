//! Paths with parameters, queries, and routers inside of routers.
//!
//! Handlers say by their arguments what they need. What is not of its type is answered 400, a path that is not there 404,
//! and a method that a path does not have 405.
//!
//! ```console
//! $ cargo run --example 02_routes_and_parameters
//! $ curl http://127.0.0.1:8080/shelves/7/books/loom
//! shelf 7: loom
//! $ curl http://127.0.0.1:8080/pages/weaving/for/beginners
//! weaving/for/beginners
//! $ curl 'http://127.0.0.1:8080/search?q=warp+and+weft&limit=3'
//! 3 results for "warp and weft"
//! $ curl -H 'Accept: text/plain' http://127.0.0.1:8080/shelves/top/books/loom
//! 400 Bad Request: the path: `shelf`: "top" is not an integer from 0 to 4294967295
//! $ curl -s -i -X DELETE http://127.0.0.1:8080/search | grep -i ^allow
//! allow: GET, HEAD, OPTIONS
//! ```

use serde::Deserialize;
use tayet::{Path, Query, Router, Server};

fn book(Path((shelf, title)): Path<(u32, String)>) -> String {
    format!("shelf {shelf}: {title}\n")
}

fn page(Path(rest): Path<String>) -> String {
    format!("{rest}\n")
}

#[derive(Deserialize)]
struct Search {
    q: String,
    limit: Option<usize>,
}

fn search(Query(search): Query<Search>) -> String {
    format!("{} results for {:?}\n", search.limit.unwrap_or(10), search.q)
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let shelves = Router::new().get("/{shelf}/books/{title}", book);
    let app = Router::new().nest("/shelves", shelves).get("/pages/{*rest}", page).get("/search", search);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
