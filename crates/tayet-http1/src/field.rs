//! A field line: `name: value`, in a head or in a trailer section.

use std::ops::Range;

use crate::Refusal;
use crate::byte::{TOKEN, is_whitespace, trim};
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
        if bytes.get(start) == Some(&b'\r') {
            if let Some(end) = line::end(bytes, start)? {
                return Ok(Self::Empty { end });
            }
        } else if let Some((field, next)) = Field::parse(bytes, start)? {
            lines.begin_line(next);
            return Ok(Self::Field(field));
        }
        lines.wait_for_more(bytes);
        Ok(Self::Incomplete)
    }
}

impl Field {
    /// Reads the line that begins at `start`. Gives the field and where the next line begins; `None`: it needs more.
    #[inline]
    fn parse(bytes: &[u8], start: usize) -> Result<Option<(Self, usize)>, Refusal> {
        let colon = TOKEN.end_of_run(bytes, start);
        if bytes.get(colon) != Some(&b':') || colon == start || colon - start > MAX_NAME_BYTES {
            return name_fault(bytes, start, colon);
        }
        let mut value_start = colon + 1;
        while bytes.get(value_start).is_some_and(|&byte| is_whitespace(byte)) {
            value_start += 1;
        }
        let line_end = line::find_control(bytes, value_start);
        let Some(next) = line::end(bytes, line_end)? else { return Ok(None) };
        let mut value_end = line_end;
        while value_end > value_start && is_whitespace(bytes[value_end - 1]) {
            value_end -= 1;
        }
        let field = Self { name: Span::new(start..colon), value: Span::new(value_start..value_end) };
        Ok(Some((field, next)))
    }
}

/// The elements of a list (RFC 9110 section 5.6.1), empty ones included, without whitespace around them.
pub(crate) fn list_elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// What is wrong with a name from `start` on, of which the first byte that isn't a token's is at `end`.
#[cold]
fn name_fault<T>(bytes: &[u8], start: usize, end: usize) -> Result<Option<T>, Refusal> {
    let rest = bytes.get(end..).unwrap_or_default();
    let behind_whitespace = rest.iter().find(|&&byte| !is_whitespace(byte));
    let refusal = match rest {
        [b' ' | b'\t', ..] if end == start => Refusal::ObsoleteFolding,
        [b' ' | b'\t', ..] if behind_whitespace == Some(&b':') => Refusal::SpaceBeforeColon,
        [b':', ..] if end == start => Refusal::EmptyFieldName,
        [b'\r', ..] => Refusal::MissingColon,
        _ => Refusal::MalformedFieldName,
    };
    line::unexpected(bytes, end, refusal)
}
