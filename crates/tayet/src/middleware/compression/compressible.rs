//! Which content is worth compressing.

/// Types of `application`, `image`, ... whose content is text, or as redundant as text.
const TYPES: &[&str] = &[
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/manifest+json",
    "application/ndjson",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tar",
    "application/x-www-form-urlencoded",
    "application/xml",
    "application/yaml",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/vnd.microsoft.icon",
    "image/x-icon",
];

/// Suffixes of structured syntaxes that are text (RFC 6838 section 4.2.8).
const SUFFIXES: &[&str] = &["+json", "+xml", "+yaml", "+text", "+json-seq"];

/// Whether content of this `Content-Type` becomes smaller when it is compressed.
pub(super) fn is_compressible(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type.starts_with("text/")
        || TYPES.contains(&media_type.as_str())
        || SUFFIXES.iter().any(|suffix| media_type.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_compressible_and_pictures_are_not() {
        for content_type in [
            "text/html; charset=utf-8",
            "Text/Event-Stream",
            "application/json",
            "application/problem+json",
            "image/svg+xml",
            "application/wasm",
        ] {
            assert!(is_compressible(content_type), "{content_type}");
        }
        for content_type in [
            "image/png",
            "video/mp4",
            "application/zip",
            "application/octet-stream",
            "font/woff2",
            "",
            "json",
        ] {
            assert!(!is_compressible(content_type), "{content_type}");
        }
    }
}
