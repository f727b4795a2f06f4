//! The boundary of a form (RFC 2046 section 5.1.1).

use super::MultipartError;
use super::parameters::Parameters;

/// The longest boundary.
const MAX_BOUNDARY_BYTES: usize = 70;

/// The boundary that the `Content-Type` of a form has.
pub(super) fn boundary_of(content_type: Option<&str>) -> Result<String, MultipartError> {
    let not_multipart = || MultipartError::NotMultipart { found: content_type.map(str::to_owned) };
    let value = content_type.ok_or_else(not_multipart)?;
    let (media_type, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
    if !media_type.trim_matches([' ', '\t']).eq_ignore_ascii_case("multipart/form-data") {
        return Err(not_multipart());
    }
    let mut boundary = None;
    for parameter in Parameters::new(parameters) {
        let (name, value) = parameter.ok_or(MultipartError::InvalidBoundary)?;
        if name.eq_ignore_ascii_case("boundary") && boundary.replace(value.into_owned()).is_some() {
            return Err(MultipartError::InvalidBoundary);
        }
    }
    boundary.filter(|boundary| is_boundary(boundary)).ok_or(MultipartError::InvalidBoundary)
}

pub(super) fn is_boundary(text: &str) -> bool {
    (1..=MAX_BOUNDARY_BYTES).contains(&text.len())
        && text.bytes().all(is_boundary_byte)
        && !text.ends_with(' ')
}

/// `bchars` of RFC 2046.
fn is_boundary_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_those_of_the_rfc() {
        let longest = "b".repeat(70);
        for (parameters, boundary) in [
            ("; boundary=AaB03x".to_owned(), "AaB03x"),
            (";boundary=\"gc0pJq0M:08jU534c0p\"".to_owned(), "gc0pJq0M:08jU534c0p"),
            (" ; charset=utf-8 ; Boundary=\"a b\"".to_owned(), "a b"),
            (format!("; boundary={longest}"), &longest),
        ] {
            let content_type = format!("Multipart/Form-Data{parameters}");
            assert_eq!(boundary_of(Some(&content_type)).as_deref(), Ok(boundary), "{content_type}");
        }
    }

    #[test]
    fn others_are_refused() {
        for parameters in [
            "",
            ";",
            "; boundary=",
            "; boundary=\"\"",
            "; boundary=\"a \"",
            "; boundary=a b",
            "; boundary=a:b",
            "; boundary=\"a",
            "; boundary=\"a\rb\"",
            "; boundary=\"a@b\"",
            "; boundary=a; boundary=a",
            "; boundary",
            &format!("; boundary={}", "b".repeat(71)),
        ] {
            let content_type = format!("multipart/form-data{parameters}");
            assert_eq!(
                boundary_of(Some(&content_type)),
                Err(MultipartError::InvalidBoundary),
                "{content_type}"
            );
        }
    }

    #[test]
    fn another_type_is_no_form() {
        for content_type in
            [None, Some("text/plain; boundary=a"), Some("multipart/mixed; boundary=a"), Some("")]
        {
            let error = boundary_of(content_type).unwrap_err();
            assert_eq!(error.status(), 415, "{content_type:?}");
        }
    }
}
