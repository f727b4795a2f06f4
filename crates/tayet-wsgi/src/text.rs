//! Between bytes and WSGI's texts, in which every character stands for one byte (PEP 3333, "Unicode Issues").

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The text whose characters are these bytes (ISO 8859-1).
pub(crate) fn from_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyString> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => PyString::new(py, text),
        _ => PyString::new(py, &bytes.iter().copied().map(char::from).collect::<String>()),
    }
}

/// The bytes that a text's characters stand for; `None` where one is no byte's.
pub(crate) fn to_bytes<'a>(text: &'a Bound<'_, PyString>) -> Option<Cow<'a, [u8]>> {
    let text = text.to_str().ok()?;
    if text.is_ascii() {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    text.chars().map(|c| u8::try_from(c).ok()).collect::<Option<Vec<u8>>>().map(Cow::Owned)
}
