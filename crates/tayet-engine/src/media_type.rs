//! Which kind of content a file has, by its name.

use std::ffi::OsStr;
use std::path::Path;

use http::HeaderValue;

/// The media type of a file, by its name's extension: `application/octet-stream` where that says nothing. Text is UTF-8.
///
/// ```
/// use std::path::Path;
///
/// assert_eq!(tayet_engine::media_type(Path::new("index.html")), "text/html; charset=utf-8");
/// ```
pub fn media_type(path: &Path) -> HeaderValue {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or("");
    match mime_guess::from_ext(extension).first_raw() {
        // As it is called since RFC 9239.
        Some("application/javascript") => HeaderValue::from_static("text/javascript; charset=utf-8"),
        Some(text) if text.starts_with("text/") => {
            HeaderValue::try_from(format!("{text}; charset=utf-8")).expect("a media type is visible")
        }
        Some(other) => HeaderValue::from_static(other),
        None => HeaderValue::from_static("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_browsers_expect() {
        for (name, media_type) in [
            ("index.html", "text/html; charset=utf-8"),
            ("INDEX.HTM", "text/html; charset=utf-8"),
            ("a.css", "text/css; charset=utf-8"),
            ("a.js", "text/javascript; charset=utf-8"),
            ("a.mjs", "text/javascript; charset=utf-8"),
            ("a.txt", "text/plain; charset=utf-8"),
            ("a.md", "text/markdown; charset=utf-8"),
            ("a.csv", "text/csv; charset=utf-8"),
            ("a.json", "application/json"),
            ("a.xml", "text/xml; charset=utf-8"),
            ("a.wasm", "application/wasm"),
            ("a.svg", "image/svg+xml"),
            ("a.png", "image/png"),
            ("a.jpeg", "image/jpeg"),
            ("a.webp", "image/webp"),
            ("a.avif", "image/avif"),
            ("favicon.ico", "image/x-icon"),
            ("a.woff2", "font/woff2"),
            ("a.mp4", "video/mp4"),
            ("a.pdf", "application/pdf"),
            ("a.tar.gz", "application/gzip"),
            ("site.webmanifest", "application/manifest+json"),
            ("LICENSE", "application/octet-stream"),
            ("a.unheard-of", "application/octet-stream"),
            ("docs.d/README", "application/octet-stream"),
        ] {
            assert_eq!(super::media_type(Path::new(name)), media_type, "{name}");
        }
    }
}
