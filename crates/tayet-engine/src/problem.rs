//! Error answers: short, and in the form that the client asks for.

use http::{HeaderValue, StatusCode};

use crate::Response;

/// An error answer: `application/problem+json` (RFC 9457), or plain text where `accept` (the request's `Accept`) prefers
/// that. `detail` is one sentence for a person, or empty.
///
/// # Examples
///
/// ```
/// use http::StatusCode;
///
/// let response = tayet_engine::problem::response(StatusCode::NOT_FOUND, "there is no such page", None);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// ```
pub fn response(status: StatusCode, detail: &str, accept: Option<&str>) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let (content_type, body) = if prefers_text(accept) {
        let text = if detail.is_empty() {
            format!("{} {title}\n", status.as_u16())
        } else {
            format!("{} {title}: {detail}\n", status.as_u16())
        };
        ("text/plain; charset=utf-8", text)
    } else {
        ("application/problem+json", problem_json(status, title, detail))
    };
    Response::new(body).with_status(status).with_content_type(HeaderValue::from_static(content_type))
}

/// Whether `text/plain` (or `text/html`, for which plain text must do) is named before any JSON. A wildcard is content with
/// either, so it gets the default.
fn prefers_text(accept: Option<&str>) -> bool {
    let Some(accept) = accept else { return false };
    let mut best = (0u32, false);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let is_text = match parts.next().map(str::to_ascii_lowercase).as_deref() {
            Some("text/plain" | "text/html" | "text/*") => true,
            Some("application/json" | "application/problem+json" | "application/*" | "*/*") => false,
            _ => continue,
        };
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok()).unwrap_or(1.0);
        let quality = (quality.clamp(0.0, 1.0) * 1000.0) as u32;
        if quality > best.0 {
            best = (quality, is_text);
        }
    }
    best.1
}

fn problem_json(status: StatusCode, title: &str, detail: &str) -> String {
    let mut json = format!(r#"{{"title":"{title}","status":{}"#, status.as_u16());
    if !detail.is_empty() {
        json.push_str(r#","detail":""#);
        detail.chars().for_each(|c| push_escaped(&mut json, c));
        json.push('"');
    }
    json.push_str("}\n");
    json
}

fn push_escaped(json: &mut String, c: char) {
    match c {
        '"' => json.push_str("\\\""),
        '\\' => json.push_str("\\\\"),
        '\n' => json.push_str("\\n"),
        c if c < ' ' => json.push_str(&format!("\\u{:04x}", c as u32)),
        c => json.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_for(accept: Option<&str>) -> bool {
        response(StatusCode::NOT_FOUND, "", accept).headers()["content-type"] == "text/plain; charset=utf-8"
    }

    #[test]
    fn the_form_follows_accept() {
        assert!(!text_for(None));
        assert!(!text_for(Some("*/*")));
        assert!(!text_for(Some("application/json, text/plain;q=0.5")));
        assert!(text_for(Some("text/plain")));
        assert!(text_for(Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")));
        assert!(text_for(Some("application/json;q=0.1, text/plain")));
        assert!(!text_for(Some("image/png")));
    }

    #[test]
    fn details_are_escaped() {
        let response = response(StatusCode::BAD_REQUEST, "a \"quoted\\\n\u{1} word", None);
        let expected = r#"{"title":"Bad Request","status":400,"detail":"a \"quoted\\\n\u0001 word"}"#;
        assert_eq!(response.body().as_bytes().unwrap().trim_ascii_end(), expected.as_bytes());
    }
}
