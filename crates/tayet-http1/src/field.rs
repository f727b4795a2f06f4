//! A field line: `name: value`, in a head or in a trailer section.

use std::ops::Range;

use crate::Refusal;
use crate::byte::{TOKEN, is_whitespace, trim, trimmed};
use crate::line::{self, Stop};

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

    /// The empty span at its end.
    pub(crate) fn end(self) -> Self {
        Self { start: self.end, end: self.end }
    }

    /// What of `whole` lies behind this front part and the byte that ends it; `None` if the part is all.
    #[inline]
    pub(crate) fn behind_separator(self, whole: Self) -> Option<Self> {
        (self.end < whole.end).then(|| Self { start: self.end + 1, end: whole.end })
    }
}

/// A field's name and its value without whitespace around it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Span,
    pub(crate) value: Span,
}

/// A line of a head's fields or of a trailer section.
pub(crate) enum FieldLine<'b> {
    Field {
        name: &'b [u8],
        value: &'b [u8],
        /// Where the two lie.
        field: Field,
        /// Where the line ends.
        end: usize,
    },
    /// The empty line behind the fields.
    Empty { end: usize },
}

impl<'b> FieldLine<'b> {
    /// Reads the line that begins at `start` of `bytes`.
    // Inlined always, since the head's loop then has the parts in registers.
    #[inline(always)]
    pub(crate) fn parse(bytes: &'b [u8], start: usize) -> Result<Self, Stop> {
        if bytes.get(start) == Some(&b'\r') {
            return Ok(Self::Empty { end: line::end(bytes, start)? });
        }
        let colon = match TOKEN.find_other(bytes, start) {
            Some((at, b':')) if at > start && at - start <= MAX_NAME_BYTES => at,
            _ => return Err(name_fault(bytes.get(start..).unwrap_or_default())),
        };
        let text_end = line::find_control(bytes, colon + 1).ok_or(Stop::Incomplete)?;
        let end = line::end(bytes, text_end)?;
        let value = trimmed(bytes, colon + 1..text_end);
        let field = Field { name: Span::new(start..colon), value: Span::new(value.clone()) };
        Ok(Self::Field { name: &bytes[start..colon], value: &bytes[value], field, end })
    }
}

/// Whether `name`, which is a token, is `wanted`, which is of lowercase letters and hyphens.
#[inline]
pub(crate) fn is_name<const LENGTH: usize>(name: &[u8], wanted: &[u8; LENGTH]) -> bool {
    name.len() == LENGTH && name.iter().zip(wanted).all(|(byte, wanted)| lowercase(*byte) == *wanted)
}

/// The bit that makes letters lowercase is set in a hyphen, and no other byte of a token becomes either by it.
#[inline]
fn lowercase(byte: u8) -> u8 {
    byte | 0x20
}

/// The elements of a list (RFC 9110 section 5.6.1), empty ones included, without whitespace around them.
pub(crate) fn list_elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// What is wrong with the name that `rest` begins with.
#[cold]
fn name_fault(rest: &[u8]) -> Stop {
    let token_length = TOKEN.run_length(rest);
    let behind_token = &rest[token_length..];
    let behind_whitespace = behind_token.iter().find(|&&byte| !is_whitespace(byte));
    let refusal = match behind_token {
        [b' ' | b'\t', ..] if token_length == 0 => Refusal::ObsoleteFolding,
        [b' ' | b'\t', ..] if behind_whitespace == Some(&b':') => Refusal::SpaceBeforeColon,
        [b':', ..] if token_length == 0 => Refusal::EmptyFieldName,
        [b'\r', ..] => Refusal::MissingColon,
        _ => Refusal::MalformedFieldName,
    };
    line::unexpected(behind_token, refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_and_never_mistaken() {
        assert!(is_name(b"Content-Length", b"content-length"));
        assert!(is_name(b"CONTENT-LENGTH", b"content-length"));
        assert!(!is_name(b"Content-Lengths", b"content-length"));
        assert!(!is_name(b"Content_Length", b"content-length"));
        for at in 0..4 {
            for byte in (0..=255u8).filter(|&byte| TOKEN.has(byte)) {
                let mut name = *b"a-zb";
                name[at] = byte;
                assert_eq!(
                    is_name(&name, b"a-zb"),
                    name.eq_ignore_ascii_case(b"a-zb"),
                    "{}",
                    name.escape_ascii()
                );
            }
        }
    }
}
