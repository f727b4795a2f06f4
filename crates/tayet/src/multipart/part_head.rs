//! What a part says of itself.

use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::MultipartError;
use super::parameters::Parameters;

/// The longest name of a file that file systems take.
const MAX_FILE_NAME_BYTES: usize = 255;

/// What a part says of itself: its name, and a file's name if it is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHead {
    name: String,
    file_name: Option<String>,
    headers: HeaderMap,
}

impl PartHead {
    /// Reads the lines of a part's header, without the empty one.
    pub(super) fn parse(lines: &[u8]) -> Result<Self, MultipartError> {
        let headers = parse_fields(lines).ok_or(MultipartError::MalformedPartHeader)?;
        check_transfer_encoding(&headers)?;
        let mut dispositions = headers.get_all(CONTENT_DISPOSITION).iter();
        let (Some(disposition), None) = (dispositions.next(), dispositions.next()) else {
            return Err(MultipartError::MalformedDisposition);
        };
        let disposition = std::str::from_utf8(disposition.as_bytes()).map_err(|_| MultipartError::NotUtf8)?;
        let (name, file_name) = parse_disposition(disposition)?;
        Ok(Self { name, file_name, headers })
    }

    /// The name of the field, as the form has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the file, as the client says it: it may be empty (nothing was chosen), a path, or any text. `filename*`
    /// (RFC 8187) prevails over `filename`. `None` for a part that is no file.
    pub fn file_name(&self) -> Option<&str> {
        self.file_name.as_deref()
    }

    /// The name of the file such that it may be put behind a directory's: its last component without dots at its ends, of at
    /// most 255 bytes. `None` where nothing is left, or control characters are in it.
    ///
    /// Two files may still have the same one.
    pub fn safe_file_name(&self) -> Option<&str> {
        let name = self.file_name()?.rsplit(['/', '\\']).next()?;
        let name = name.trim_matches(|c: char| c == '.' || c.is_whitespace());
        let is_safe =
            !name.is_empty() && name.len() <= MAX_FILE_NAME_BYTES && !name.contains(char::is_control);
        is_safe.then_some(name)
    }

    /// Whether it is a file: whether it has a file name, be it empty.
    pub fn is_file(&self) -> bool {
        self.file_name.is_some()
    }

    /// Its `Content-Type`, as the client says it.
    pub fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// All its header fields.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

fn parse_fields(lines: &[u8]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\r\n").unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        rest = behind.get(2..).unwrap_or_default();
        let colon = memchr::memchr(b':', line)?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(trim(&line[colon + 1..])).ok()?;
        headers.try_append(name, value).ok()?;
    }
    Some(headers)
}

fn trim(value: &[u8]) -> &[u8] {
    let is_other = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let Some(start) = value.iter().position(is_other) else { return &[] };
    let end = value.iter().rposition(is_other).map_or(start, |last| last + 1);
    &value[start..end]
}

/// Passing over an encoding would hand out something else than was sent.
fn check_transfer_encoding(headers: &HeaderMap) -> Result<(), MultipartError> {
    let is_none = |value: &HeaderValue| {
        ["7bit", "8bit", "binary"].iter().any(|none| value.as_bytes().eq_ignore_ascii_case(none.as_bytes()))
    };
    let mut encodings = headers.get_all("content-transfer-encoding").iter();
    if encodings.all(is_none) { Ok(()) } else { Err(MultipartError::TransferEncoding) }
}

/// The name, and the file's name if there is one.
fn parse_disposition(value: &str) -> Result<(String, Option<String>), MultipartError> {
    let (kind, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
    if !kind.trim_matches([' ', '\t']).eq_ignore_ascii_case("form-data") {
        return Err(MultipartError::MalformedDisposition);
    }
    let (mut name, mut file_name, mut extended) = (None, None, None);
    for parameter in Parameters::new(parameters) {
        let (key, value) = parameter.ok_or(MultipartError::MalformedDisposition)?;
        let (place, value) = match key.to_ascii_lowercase().as_str() {
            "name" => (&mut name, value.into_owned()),
            "filename" => (&mut file_name, value.into_owned()),
            "filename*" => (&mut extended, decode_extended(&value)?),
            _ => continue,
        };
        if place.replace(value).is_some() {
            return Err(MultipartError::MalformedDisposition);
        }
    }
    Ok((name.ok_or(MultipartError::MalformedDisposition)?, extended.or(file_name)))
}

/// `ext-value` of RFC 8187: `UTF-8'language'percent-encoded`.
fn decode_extended(value: &str) -> Result<String, MultipartError> {
    let malformed = MultipartError::MalformedDisposition;
    let mut parts = value.splitn(3, '\'');
    let (Some(charset), Some(_), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(malformed);
    };
    let mut percents = encoded.split('%');
    let is_first_plain = percents.next().is_some();
    let is_encoded = is_first_plain
        && percents
            .all(|part| part.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)));
    if !charset.eq_ignore_ascii_case("utf-8") || !is_encoded {
        return Err(malformed);
    }
    let decoded = percent_decode_str(encoded).decode_utf8().map_err(|_| MultipartError::NotUtf8)?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(disposition: &str) -> Result<PartHead, MultipartError> {
        PartHead::parse(format!("Content-Disposition: {disposition}").as_bytes())
    }

    #[test]
    fn names_and_file_names() {
        for (disposition, name, file_name) in [
            ("form-data; name=\"a b\"", "a b", None),
            ("Form-Data;NAME=a", "a", None),
            ("form-data; name=\"\"", "", None),
            ("form-data; name=a; filename=\"\"", "a", Some("")),
            ("form-data; name=a; filename=\"Grüße.txt\"; size=7", "a", Some("Grüße.txt")),
            ("form-data; filename*=UTF-8''%e2%82%ac%20rates; filename=\"EUR\"; name=a", "a", Some("€ rates")),
            ("form-data; name=a; filename*=utf-8'en'plain", "a", Some("plain")),
        ] {
            let head = of(disposition).unwrap();
            assert_eq!((head.name(), head.file_name()), (name, file_name), "{disposition}");
            assert_eq!(head.is_file(), file_name.is_some());
        }
    }

    #[test]
    fn malformed_dispositions_are_refused() {
        for disposition in [
            "",
            "form-data",
            "form-data; filename=a",
            "attachment; name=a",
            "form-data; name=a; name=b",
            "form-data; name=a; filename=b; filename=b",
            "form-data; name=a;",
            "form-data; name=\"a",
            "form-data, name=a",
            "form-data; name=a; filename*=b",
            "form-data; name=a; filename*=UTF-8''%4",
            "form-data; name=a; filename*=UTF-8''%zz",
            "form-data; name=a; filename*=ISO-8859-1''b",
        ] {
            assert_eq!(of(disposition), Err(MultipartError::MalformedDisposition), "{disposition}");
        }
        assert_eq!(of("form-data; name=a; filename*=UTF-8''%ff"), Err(MultipartError::NotUtf8));
        let latin1 = PartHead::parse(b"Content-Disposition: form-data; name=\"\xfc\"");
        assert_eq!(latin1, Err(MultipartError::NotUtf8));
        let twice = b"Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a";
        assert_eq!(PartHead::parse(twice), Err(MultipartError::MalformedDisposition));
    }

    #[test]
    fn header_lines_are_strict() {
        for line in
            ["X", "X : 1", " X: 1", ": 1", "X: a\nb", "X: a\rb", "X: \0", "\r\nX: 1", "X:1\r\n folded"]
        {
            let lines = format!("Content-Disposition: form-data; name=a\r\n{line}");
            assert_eq!(
                PartHead::parse(lines.as_bytes()),
                Err(MultipartError::MalformedPartHeader),
                "{line:?}"
            );
        }
        let head = PartHead::parse(b"content-disposition:form-data; name=a \t\r\nContent-Type:\ttext/plain")
            .unwrap();
        assert_eq!((head.name(), head.content_type()), ("a", Some("text/plain")));
    }

    #[test]
    fn a_transfer_encoding_is_refused_rather_than_passed_over() {
        let with = |encoding| {
            let lines =
                format!("Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: {encoding}");
            PartHead::parse(lines.as_bytes()).map(drop)
        };
        assert_eq!(with("Binary"), Ok(()));
        assert_eq!(with("base64"), Err(MultipartError::TransferEncoding));
    }

    #[test]
    fn a_safe_file_name_stays_in_its_directory() {
        for (file_name, safe) in [
            ("a.txt", Some("a.txt")),
            ("../../etc/passwd", Some("passwd")),
            (r"C:\\dir\\a b.txt", Some("a b.txt")),
            (".htaccess", Some("htaccess")),
            ("a. .", Some("a")),
            ("", None),
            ("..", None),
            ("dir/", None),
            ("a\u{7f}", None),
        ] {
            let head = of(&format!("form-data; name=a; filename=\"{file_name}\"; x=\"\u{80}\""))
                .map(|head| head.safe_file_name().map(str::to_owned));
            if file_name.contains('\u{7f}') {
                assert_eq!(head, Err(MultipartError::MalformedPartHeader));
                continue;
            }
            assert_eq!(head.unwrap().as_deref(), safe, "{file_name:?}");
        }
        let decoded = of("form-data; name=a; filename*=UTF-8''a%00b").unwrap();
        assert_eq!((decoded.file_name(), decoded.safe_file_name()), (Some("a\0b"), None));
        let long = of(&format!("form-data; name=a; filename={}", "x".repeat(256))).unwrap();
        assert_eq!(long.safe_file_name(), None);
    }
}
