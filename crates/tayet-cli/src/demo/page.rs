//! The page itself, held in the program.

use tayet::{Html, IntoResponse, Router};

use super::example_list;

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// Nothing from elsewhere, and nobody else's frame.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn router() -> Router {
    let html =
        HTML.replace("{{version}}", env!("CARGO_PKG_VERSION")).replace("{{examples}}", &example_list::html());
    Router::new()
        .get("/", move || page(html.clone()))
        .get("/style.css", || asset("text/css; charset=utf-8", STYLE))
        .get("/script.js", || asset("text/javascript; charset=utf-8", SCRIPT))
}

fn page(html: String) -> impl IntoResponse {
    let fields = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-cache"),
    ];
    (fields, Html(html))
}

fn asset(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    let fields = [
        ("content-type", content_type),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-cache"),
    ];
    (fields, text)
}
