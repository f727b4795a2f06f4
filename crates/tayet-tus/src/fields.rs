//! Reading and writing header fields.

use std::time::SystemTime;

use percent_encoding::percent_decode_str;
use tayet::http::HeaderName;
use tayet::{HeaderValue, Request, Response};

use crate::upload_error::UploadError;

/// The number that a field has; `None` where the field is not there.
pub(crate) fn number(
    request: &Request,
    name: &str,
    malformed: &'static str,
) -> Result<Option<u64>, UploadError> {
    let Some(value) = request.headers().get(name) else { return Ok(None) };
    let number = value.to_str().ok().filter(|text| is_digits(text)).and_then(|text| text.parse().ok());
    number.map(Some).ok_or(UploadError::Malformed(malformed))
}

/// The boolean of a structured field (RFC 9651 section 3.3.6); any other value is as none.
pub(crate) fn boolean(request: &Request, name: &str) -> Option<bool> {
    match request.header(name)?.trim() {
        "?1" => Some(true),
        "?0" => Some(false),
        _ => None,
    }
}

/// Adds a field whose value may come from a client; what cannot stand in a field is left out.
pub(crate) fn set(response: &mut Response, name: &'static str, value: impl Into<String>) {
    if let Ok(value) = HeaderValue::from_str(&value.into()) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// A time as header fields have it (RFC 9110 section 5.6.7).
pub(crate) fn http_date(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

/// Whether a field's media type, without its parameters, is this one.
pub(crate) fn is_media_type(request: &Request, expected: &str) -> bool {
    let media_type = request.header("content-type").and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(expected))
}

/// Whether there is a body, or may be one.
pub(crate) fn has_body(request: &Request) -> bool {
    request.content_length() != Some(0)
}

/// A parameter of a field such as `Content-Disposition`, unquoted; its extended form (`name*`, RFC 8187) prevails.
pub(crate) fn parameter(value: &str, name: &str) -> Option<String> {
    let mut plain = None;
    for (known, text) in parameters(value) {
        if known.eq_ignore_ascii_case(name) {
            plain.get_or_insert(text);
        } else if known.strip_suffix('*').is_some_and(|known| known.eq_ignore_ascii_case(name))
            && let Some(decoded) = decode_extended(&text)
        {
            return Some(decoded);
        }
    }
    plain
}

fn decode_extended(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, '\'');
    let (charset, _language, value) = (parts.next()?, parts.next()?, parts.next()?);
    let is_utf8 = charset.eq_ignore_ascii_case("utf-8");
    is_utf8.then(|| percent_decode_str(value).decode_utf8().ok().map(std::borrow::Cow::into_owned))?
}

/// The parameters behind a field's first semicolon.
fn parameters(value: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    std::iter::from_fn(move || {
        let (name, behind) = rest.split_once('=')?;
        let (text, left) = match behind.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (text, left) = behind.split_once(';').unwrap_or((behind, ""));
                (text.trim().to_owned(), left)
            }
        };
        rest = left;
        Some((name.trim(), text))
    })
}

/// What stands before the closing quote, and what behind the semicolon after it. Browsers do not escape backslashes in names of
/// files, so one stands for itself unless a quote or a backslash follows.
fn unquote(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let left = &quoted[at + 1..];
                return (text, left.split_once(';').map_or("", |(_, left)| left));
            }
            '\\' => match characters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => text.push(escaped),
                None => text.push('\\'),
            },
            _ => text.push(character),
        }
    }
    (text, "")
}

pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(value: &str) -> Request {
        Request::builder("POST", "/").header("Upload-Length", value).build().unwrap()
    }

    #[test]
    fn numbers_are_digits_alone() {
        let read = |value| number(&request(value), "upload-length", "wrong");
        assert_eq!(read("0").unwrap(), Some(0));
        assert_eq!(read("18446744073709551615").unwrap(), Some(u64::MAX));
        for text in ["", "-1", "+1", "1.5", "0x1", "18446744073709551616", "1 2"] {
            assert!(read(text).is_err(), "{text:?}");
        }
        assert_eq!(number(&request("1"), "upload-offset", "wrong").unwrap(), None);
    }

    #[test]
    fn booleans_are_structured() {
        for (value, expected) in [("?1", Some(true)), ("?0", Some(false)), ("1", None), ("true", None)] {
            assert_eq!(boolean(&request(value), "upload-length"), expected);
        }
    }

    #[test]
    fn parameters_are_unquoted() {
        for (value, expected) in [
            ("form-data; name=a; filename=\"b c.txt\"", Some("b c.txt")),
            ("form-data; filename=b.txt; name=a", Some("b.txt")),
            (r#"form-data; filename="a\"b;c.txt""#, Some("a\"b;c.txt")),
            (r#"form-data; filename="C:\dir\a.txt""#, Some(r"C:\dir\a.txt")),
            ("inline; filename=\"x\"; filename*=UTF-8''f%C3%BCr%20dich", Some("für dich")),
            ("inline; filename*=latin1''x; filename=y", Some("y")),
            ("form-data; name=a", None),
            ("form-data", None),
        ] {
            assert_eq!(parameter(value, "filename").as_deref(), expected, "{value}");
        }
    }
}
