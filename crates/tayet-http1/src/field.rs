//! A field line: `name: value`, in a head or in a trailer section.

use std::ops::Range;

use crate::Refusal;
use crate::byte::{is_token, is_whitespace, trim};

/// A name's length has to fit into a [`http::HeaderName`].
const MAX_NAME_BYTES: usize = u16::MAX as usize;

/// Where a part of a head lies in the head's bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The caller keeps heads within [`MAX_HEAD_BYTES_CEILING`](crate::MAX_HEAD_BYTES_CEILING).
    #[inline]
    pub(crate) fn new(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.range()]
    }

    #[inline]
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A field's name and its value without whitespace around it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Span,
    pub(crate) value: Span,
}

impl Field {
    /// Reads the line in `bytes[line]`, which has no control bytes, no line end, and isn't empty.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], line: Range<usize>) -> Result<Self, Refusal> {
        let text = &bytes[line.clone()];
        let colon = text.iter().position(|&byte| !is_token(byte)).ok_or(Refusal::MissingColon)?;
        if text[colon] != b':' || colon == 0 || colon > MAX_NAME_BYTES {
            return Err(malformed_name(text, colon));
        }
        let (mut start, mut end) = (colon + 1, text.len());
        while start < end && is_whitespace(text[start]) {
            start += 1;
        }
        while start < end && is_whitespace(text[end - 1]) {
            end -= 1;
        }
        Ok(Self {
            name: Span::new(line.start..line.start + colon),
            value: Span::new(line.start + start..line.start + end),
        })
    }
}

/// The elements of a list (RFC 9110 section 5.6.1), empty ones included, without whitespace around them.
pub(crate) fn list_elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// Which rule the name breaks whose first byte that is no token's is at `at`.
#[cold]
fn malformed_name(text: &[u8], at: usize) -> Refusal {
    let behind_whitespace = text[at..].iter().find(|&&byte| !is_whitespace(byte));
    match (text[at], at) {
        (b':', 0) => Refusal::EmptyFieldName,
        (b' ' | b'\t', 0) => Refusal::ObsoleteFolding,
        (b' ' | b'\t', _) if behind_whitespace == Some(&b':') => Refusal::SpaceBeforeColon,
        _ => Refusal::MalformedFieldName,
    }
}
