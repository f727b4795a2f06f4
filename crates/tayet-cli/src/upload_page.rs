//! The page that files are dropped on.

use tayet::{IntoResponse, Router};

use crate::demo::page::{asset, html};

const HTML: &str = include_str!("upload_page/uploads.html");
const STYLE: &str = include_str!("upload_page/uploads.css");
const SCRIPT: &str = include_str!("upload_page/uploads.js");
const PROTOCOLS: &str = include_str!("upload_page/protocols.js");
const REMEMBERED: &str = include_str!("upload_page/remembered.js");

/// The page itself.
pub(crate) fn page() -> impl IntoResponse {
    html(HTML.to_owned())
}

/// What it is made of.
pub(crate) fn assets() -> Router {
    Router::new()
        .get("/uploads.css", || asset("text/css; charset=utf-8", STYLE))
        .get("/uploads.js", || asset("text/javascript; charset=utf-8", SCRIPT))
        .get("/protocols.js", || asset("text/javascript; charset=utf-8", PROTOCOLS))
        .get("/remembered.js", || asset("text/javascript; charset=utf-8", REMEMBERED))
}
