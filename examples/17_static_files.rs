//! Files: a directory, one of its parts with rules of its own, and a single file that a handler chooses.
//!
//! Ranges, conditional requests, media types and encoded siblings (`site.css.br`) need nothing. No path leads out of the
//! directory.
//!
//! ```console
//! $ cargo run --example 17_static_files
//! $ curl -s http://127.0.0.1:8080/ | head -n 1
//! <!doctype html>
//! $ curl -s -r 0-13 http://127.0.0.1:8080/; echo
//! <!doctype html
//! $ curl -sI http://127.0.0.1:8080/assets/site.css | grep -i -e content-type -e cache-control
//! content-type: text/css; charset=utf-8
//! cache-control: public, max-age=3600
//! $ curl -s http://127.0.0.1:8080/assets/ | grep -o 'href="./site.css"'
//! href="./site.css"
//! $ curl -s http://127.0.0.1:8080/source | head -n 1
//! //! Files: a directory, one of its parts with rules of its own, and a single file that a handler chooses.
//! $ curl -s --path-as-is -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/../17_static_files.rs
//! 404
//! ```

use tayet::{Files, Response, Router, Server};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/17_static_files");

fn source() -> tayet::Result<Response> {
    let file = Response::file(format!("{DIRECTORY}.rs"))?;
    Ok(file.with_header("content-type", "text/plain; charset=utf-8"))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/");
    let assets = Files::open(format!("{DIRECTORY}/assets"))?
        .list_directories()
        .cache_control("*", "public, max-age=3600");
    let app = Router::new()
        .get("/source", source)
        .nest("/assets", assets)
        .fallback(Files::open(DIRECTORY)?.cache_control("*", "no-cache"));
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
