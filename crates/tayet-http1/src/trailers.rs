//! The trailer section of a chunked message (RFC 9112 section 7.1.2).

use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::Refusal;
use crate::field::FieldLine;
use crate::limits::{MAX_TRAILER_BYTES, MAX_TRAILERS};
use crate::line::{Lines, Stop};

/// A trailer section that is being received.
#[derive(Debug, Default)]
pub(crate) struct Trailers {
    bytes: Vec<u8>,
    lines: Lines,
    fields: HeaderMap,
}

impl Trailers {
    /// Takes bytes off the front of `input`, up to the end of the section. `None`: all were taken.
    pub(crate) fn receive(&mut self, input: &mut &[u8]) -> Result<Option<HeaderMap>, Refusal> {
        let length_before = self.bytes.len();
        let room = MAX_TRAILER_BYTES - length_before;
        self.bytes.extend_from_slice(&input[..input.len().min(room)]);
        if let Some(length) = self.parse()? {
            *input = &input[length - length_before..];
            return Ok(Some(std::mem::take(&mut self.fields)));
        }
        if self.bytes.len() == MAX_TRAILER_BYTES {
            return Err(Refusal::TrailersTooLarge);
        }
        *input = &[];
        Ok(None)
    }

    /// Goes on reading the bytes that are there. Gives the section's length when it is complete.
    fn parse(&mut self) -> Result<Option<usize>, Refusal> {
        if !self.lines.is_worth_a_try(&self.bytes) {
            return Ok(None);
        }
        let mut start = self.lines.start();
        loop {
            match FieldLine::parse(&self.bytes, start) {
                Ok(FieldLine::Field { name, value, end, .. }) => {
                    add(&mut self.fields, name, value)?;
                    start = end;
                }
                Ok(FieldLine::Empty { end }) => return Ok(Some(end)),
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Incomplete) => {
                    self.lines.wait_for_more(start, &self.bytes);
                    return Ok(None);
                }
            }
        }
    }
}

fn add(fields: &mut HeaderMap, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
    if fields.len() == MAX_TRAILERS {
        return Err(Refusal::TooManyTrailers);
    }
    let name = HeaderName::from_bytes(name).map_err(|_| Refusal::MalformedFieldName)?;
    if is_forbidden(&name) {
        return Err(Refusal::ForbiddenTrailer);
    }
    let value = HeaderValue::from_bytes(value).expect("FieldLine refuses control bytes");
    fields.append(name, value);
    Ok(())
}

/// Whether a field may not come in a trailer (RFC 9110 section 6.5.1), since it delimits or routes the
/// message, changes how the request is to be read, or says who sends it. Such a trailer is an attempt to
/// smuggle.
pub(crate) fn is_forbidden(name: &HeaderName) -> bool {
    const FORBIDDEN: [&str; 29] = [
        "authorization",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "content-type",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "keep-alive",
        "max-forwards",
        "origin",
        "pragma",
        "proxy-authorization",
        "range",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-forwarded-for",
        "x-forwarded-host",
    ];
    FORBIDDEN.contains(&name.as_str())
}
