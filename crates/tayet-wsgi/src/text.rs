//! Between bytes and WSGI's texts, in which every character stands for one byte (PEP 3333, "Unicode Issues").
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The text whose characters are these bytes (ISO 8859-1).
pub(crate) fn from_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyString> {
    // SAFETY: the pointer and the length are those of one slice, which the call copies; no error handler is a null pointer. It
    // returns a new reference to a `str`, or null where there is no memory, at which `from_owned_ptr` panics as all of PyO3 does.
    unsafe {
        let text = ffi::PyUnicode_DecodeLatin1(bytes.as_ptr().cast(), bytes.len() as isize, ptr::null());
        Bound::from_owned_ptr(py, text).cast_into_unchecked()
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
