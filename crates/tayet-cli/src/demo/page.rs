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
    let text =
        HTML.replace("{{version}}", env!("CARGO_PKG_VERSION")).replace("{{examples}}", &example_list::html());
    Router::new()
        .get("/", move || html(text.clone()))
        .get("/style.css", style)
        .get("/script.js", || asset("text/javascript; charset=utf-8", SCRIPT))
}

/// What every page of the program looks like.
pub(crate) fn style() -> impl IntoResponse {
    asset("text/css; charset=utf-8", STYLE)
}

/// A page that takes nothing from elsewhere.
pub(crate) fn html(text: String) -> impl IntoResponse {
    let fields = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-cache"),
    ];
    (fields, Html(text))
}

/// A part of a page.
pub(crate) fn asset(content_type: &'static str, text: &'static str) -> impl IntoResponse {
    let fields = [
        ("content-type", content_type),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-cache"),
    ];
    (fields, text)
}
