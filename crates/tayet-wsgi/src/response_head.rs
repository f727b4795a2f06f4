//! What the application gives to `start_response`, checked.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use tayet::{Body, HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::text;

/// Status and header fields of an answer.
pub(crate) struct ResponseHead {
    status: StatusCode,
    /// Where it is another than the status's usual one.
    reason: Option<Box<HeaderValue>>,
    content_type: Option<HeaderValue>,
    content_length: Option<u64>,
    others: Option<Box<HeaderMap>>,
}

impl ResponseHead {
    /// Checks what the application gave, so that the error is raised where the application can be seen to be wrong.
    pub(crate) fn new(
        status: &Bound<'_, PyAny>,
        headers: &Bound<'_, PyAny>,
        last_type: &LastContentType,
    ) -> PyResult<Self> {
        let (status, reason) = parse_status(status)?;
        let headers = headers
            .cast::<PyList>()
            .map_err(|_| PyTypeError::new_err("the headers must be a list of (name, value) tuples"))?;
        let mut head = Self { status, reason, content_type: None, content_length: None, others: None };
        for field in headers.iter() {
            if !head.put_usual(&field, last_type) {
                let (name, value) = parse_field(&field)?;
                head.put(name, value)?;
            }
        }
        Ok(head)
    }

    /// How long the application says that the body is.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether there is no body, whatever the application gives (RFC 9110 section 6.4.1).
    pub(crate) fn has_no_body(&self) -> bool {
        matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    }

    /// The response with this head.
    pub(crate) fn with_body(self, body: impl Into<Body>) -> Response {
        let mut response = Response::new(body).with_status(self.status);
        if let Some(reason) = self.reason {
            response = response.with_reason_phrase(*reason);
        }
        if let Some(others) = self.others {
            *response.headers_mut() = *others;
        }
        match self.content_type {
            Some(content_type) => response.with_content_type(content_type),
            None => response,
        }
    }

    /// Puts a field in that nearly every answer has, without making a name and a value of it. `false` where that is not all there is
    /// to do, be it that something is wrong.
    fn put_usual(&mut self, field: &Bound<'_, PyAny>, last_type: &LastContentType) -> bool {
        let Some((name, value)) = pair(field) else { return false };
        let (Ok(name), Ok(value)) = (name.to_str(), value.to_str()) else { return false };
        if is_named(name, "Content-Type") && self.content_type.is_none() {
            self.content_type = last_type.get(value);
            self.content_type.is_some()
        } else if is_named(name, "Content-Length") && self.content_length.is_none() {
            self.content_length = value.parse().ok();
            self.content_length.is_some()
        } else {
            false
        }
    }

    fn put(&mut self, name: HeaderName, value: HeaderValue) -> PyResult<()> {
        match name {
            header::CONTENT_TYPE if self.content_type.is_none() => self.content_type = Some(value),
            header::CONTENT_LENGTH => {
                let length = value.to_str().ok().and_then(|text| text.parse().ok());
                if length.is_none() || self.content_length.is_some_and(|before| Some(before) != length) {
                    return Err(PyValueError::new_err(format!("Content-Length {value:?} is no length")));
                }
                self.content_length = length;
            }
            name if is_hop_by_hop(&name) => {
                let reason = format!("{name} is for the server to say (PEP 3333, \"Other HTTP Features\")");
                return Err(PyValueError::new_err(reason));
            }
            name => drop(self.others.get_or_insert_default().append(name, value)),
        }
        Ok(())
    }
}

/// RFC 9110 section 7.6.1 and RFC 2616 section 13.5.1, which PEP 3333 names.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    const NAMES: [HeaderName; 7] = [
        header::CONNECTION,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::TE,
        header::TRAILER,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
    ];
    NAMES.contains(name) || name.as_str() == "keep-alive"
}

/// Fields that go with the handshake of a WebSocket, whose own are not the application's to say.
pub(crate) fn parse_fields(fields: &Bound<'_, PyAny>) -> PyResult<Vec<(HeaderName, HeaderValue)>> {
    let mut parsed = Vec::new();
    for field in fields.try_iter()? {
        let (name, value) = parse_field(&field?)?;
        if is_hop_by_hop(&name) || name.as_str().starts_with("sec-websocket-") {
            return Err(PyValueError::new_err(format!("{name} is for the server to say")));
        }
        parsed.push((name, value));
    }
    Ok(parsed)
}

/// The status, and what the application says behind it if that is not what is usually said.
fn parse_status(status: &Bound<'_, PyAny>) -> PyResult<(StatusCode, Option<Box<HeaderValue>>)> {
    let wrong = || PyValueError::new_err(format!("{status:?} is no status such as '200 OK'"));
    let given = status.cast::<PyString>().map_err(|_| PyTypeError::new_err("the status must be a str"))?;
    let text = given.to_str()?;
    if text == "200 OK" {
        return Ok((StatusCode::OK, None));
    }
    let (code, reason) = text.split_at_checked(3).ok_or_else(wrong)?;
    if !reason.is_empty() && !reason.starts_with(' ') || reason.chars().any(char::is_control) {
        return Err(wrong());
    }
    let status = StatusCode::from_bytes(code.as_bytes()).map_err(|_| wrong())?;
    if status.is_informational() {
        return Err(wrong());
    }
    let reason = reason.strip_prefix(' ').unwrap_or_default();
    if reason.is_empty() || status.canonical_reason() == Some(reason) {
        return Ok((status, None));
    }
    let bytes = text::to_bytes(given).ok_or_else(wrong)?;
    let reason = HeaderValue::from_bytes(&bytes["200 ".len()..]).map_err(|_| wrong())?;
    Ok((status, Some(Box::new(reason))))
}

fn parse_field(field: &Bound<'_, PyAny>) -> PyResult<(HeaderName, HeaderValue)> {
    let not_a_pair = || PyTypeError::new_err(format!("{field:?} is no (name, value) tuple of two str"));
    let (name, value) = pair(field).ok_or_else(not_a_pair)?;
    let wrong = || PyValueError::new_err(format!("{name:?}: {value:?} cannot stand in a header"));
    let name = HeaderName::from_bytes(&text::to_bytes(name).ok_or_else(wrong)?).map_err(|_| wrong())?;
    let value = HeaderValue::from_bytes(&text::to_bytes(value).ok_or_else(wrong)?).map_err(|_| wrong())?;
    Ok((name, value))
}

/// Whether a field has a name, which nearly all applications write like this: that is compared in a few words.
fn is_named(name: &str, usual: &str) -> bool {
    name == usual || name.eq_ignore_ascii_case(usual)
}

/// What lies in a tuple of two `str`.
fn pair<'a, 'py>(
    field: &'a Bound<'py, PyAny>,
) -> Option<(&'a Bound<'py, PyString>, &'a Bound<'py, PyString>)> {
    let [name, value] = field.cast::<PyTuple>().ok()?.as_slice() else { return None };
    Some((name.cast().ok()?, value.cast().ok()?))
}

/// The `Content-Type` of the answer before: most often it is the next one's, too, and need not be checked and copied again.
#[derive(Default)]
pub(crate) struct LastContentType(Mutex<Option<HeaderValue>>);

impl LastContentType {
    /// The value for an ASCII text; `None` for another, and for one that cannot stand in a header.
    fn get(&self, text: &str) -> Option<HeaderValue> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = last.as_ref().filter(|last| last.as_bytes() == text.as_bytes()) {
            return Some(value.clone());
        }
        let value = HeaderValue::from_str(text).ok().filter(|_| text.is_ascii())?;
        *last = Some(value.clone());
        Some(value)
    }
}
