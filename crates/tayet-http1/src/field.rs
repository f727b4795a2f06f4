//! A field line: `name: value`, in a head or in a trailer section.

use std::ops::Range;

use crate::Refusal;
use crate::byte::{TOKEN, is_whitespace, trim, trimmed};
use crate::line::{self, Lines};

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

/// The next line of a head's fields or of a trailer section.
pub(crate) enum FieldLine {
    Field(Field),
    /// The empty line behind the fields; `end` is where it ends.
    Empty {
        end: usize,
    },
    /// It needs more bytes.
    Incomplete,
}

impl FieldLine {
    /// Reads the next of `lines`, and goes on to the one behind it.
    #[inline]
    pub(crate) fn next(bytes: &[u8], lines: &mut Lines) -> Result<Self, Refusal> {
        if !lines.is_worth_a_try(bytes) {
            return Ok(Self::Incomplete);
        }
        let start = lines.start();
        let Some(rest) = bytes.get(start..) else { return Ok(Self::Incomplete) };
        if rest.first() == Some(&b'\r') {
            if let Some(length) = line::end_length(rest)? {
                return Ok(Self::Empty { end: start + length });
            }
        } else if let Some((field, length)) = Field::parse(rest, start)? {
            lines.begin_line(start + length);
            return Ok(Self::Field(field));
        }
        lines.wait_for_more(bytes);
        Ok(Self::Incomplete)
    }
}

impl Field {
    /// Reads the line that `rest` begins with, which itself begins at `start` of the head. Gives the field
    /// and the line's length; `None`: it needs more.
    #[inline]
    fn parse(rest: &[u8], start: usize) -> Result<Option<(Self, usize)>, Refusal> {
        let name_length = TOKEN.run_length(rest);
        let [b':', behind_colon @ ..] = &rest[name_length..] else { return name_fault(rest, name_length) };
        if name_length == 0 || name_length > MAX_NAME_BYTES {
            return name_fault(rest, name_length);
        }
        let text_length = line::find_control(behind_colon);
        let (text, line_end) = behind_colon.split_at(text_length);
        let Some(end_length) = line::end_length(line_end)? else { return Ok(None) };
        let (text_start, value) = (start + name_length + 1, trimmed(text));
        let field = Self {
            name: Span::new(start..start + name_length),
            value: Span::new(text_start + value.start..text_start + value.end),
        };
        Ok(Some((field, name_length + 1 + text_length + end_length)))
    }
}

/// Whether `name`, which is a token, is `wanted`, which is of lowercase letters and hyphens.
#[inline]
pub(crate) fn is_name<const LENGTH: usize>(name: &[u8], wanted: &[u8; LENGTH]) -> bool {
    // The bit that makes letters lowercase is set in a hyphen, and no other byte of a token becomes either by
    // it.
    let lowercase = |byte: u8| byte | 0x20;
    <&[u8; LENGTH]>::try_from(name)
        .is_ok_and(|name| lowercase(name[0]) == wanted[0] && name.map(lowercase) == *wanted)
}

/// The elements of a list (RFC 9110 section 5.6.1), empty ones included, without whitespace around them.
pub(crate) fn list_elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// What is wrong with the name that `rest` begins with, of which so many bytes are a token's.
#[cold]
fn name_fault<T>(rest: &[u8], token_length: usize) -> Result<Option<T>, Refusal> {
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
