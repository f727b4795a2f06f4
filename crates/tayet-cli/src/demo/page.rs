//! The pages themselves, held in the program.

use tayet::{Html, IntoResponse, Router};

use super::example_list;

const HOME: &str = include_str!("page/index.html");
const CHAT: &str = include_str!("page/chat.html");

/// What the pages share: `{{name}}` in them stands for the text.
const PARTS: [(&str, &str); 4] = [
    ("icon", include_str!("page/icon.html")),
    ("brand", include_str!("page/brand.html")),
    ("footer", include_str!("page/footer.html")),
    ("version", env!("CARGO_PKG_VERSION")),
];

const STYLE: &str = include_str!("page/style.css");
const STYLES: [(&str, &str); 2] = [("/style.css", STYLE), ("/chat.css", include_str!("page/chat.css"))];

const SCRIPTS: [(&str, &str); 6] = [
    ("/script.js", include_str!("page/script.js")),
    ("/figures.js", include_str!("page/figures.js")),
    ("/chat.js", include_str!("page/chat.js")),
    ("/connection.js", include_str!("page/connection.js")),
    ("/dom.js", include_str!("page/dom.js")),
    ("/format.js", include_str!("page/format.js")),
];

/// Nothing from elsewhere, and nobody else's frame.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn router() -> Router {
    let home = filled_in(HOME).replace("{{examples}}", &example_list::html());
    let chat = filled_in(CHAT);
    let router = Router::new().get("/", move || html(home.clone())).get("/chat", move || html(chat.clone()));
    let router = with_assets(router, "text/css; charset=utf-8", &STYLES);
    with_assets(router, "text/javascript; charset=utf-8", &SCRIPTS)
}

fn filled_in(page: &str) -> String {
    let fill_in = |page: String, (name, text): (&str, &str)| page.replace(&format!("{{{{{name}}}}}"), text);
    PARTS.into_iter().fold(page.to_owned(), fill_in)
}

fn with_assets(router: Router, content_type: &'static str, assets: &[(&str, &'static str)]) -> Router {
    let add = |router: Router, (path, text): &(&str, &'static str)| {
        let text = *text;
        router.get(path, move || asset(content_type, text))
    };
    assets.iter().fold(router, add)
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
