//! Classes of bytes, looked up in one table.

use std::ops::Range;

/// A set of bytes.
#[derive(Copy, Clone)]
pub(crate) struct Class(u8);

/// `tchar` of RFC 9110 section 5.6.2.
pub(crate) const TOKEN: Class = Class(1);

/// Visible ASCII without `?` and `#`, which end a path.
pub(crate) const PATH: Class = Class(2);

/// Visible ASCII without `#`, which would begin a fragment.
pub(crate) const QUERY: Class = Class(4);

/// `unreserved` or `sub-delims` of RFC 3986: a registered name's bytes, save for percent-encoding.
pub(crate) const REG_NAME: Class = Class(8);

/// `DIGIT` of RFC 5234.
pub(crate) const DIGIT: Class = Class(16);

static CLASSES: [u8; 256] = classes();

impl Class {
    #[inline]
    pub(crate) fn has(self, byte: u8) -> bool {
        CLASSES[usize::from(byte)] & self.0 != 0
    }

    /// The first byte from `start` on that isn't in the class, and where it is. `None`: all are.
    ///
    /// Eight at a time, so that bounds are checked once for them.
    #[inline(always)]
    pub(crate) fn find_other(self, bytes: &[u8], start: usize) -> Option<(usize, u8)> {
        let mut at = start;
        while let Some(eight) = bytes.get(at..at + 8) {
            for (offset, &byte) in eight.iter().enumerate() {
                if !self.has(byte) {
                    return Some((at + offset, byte));
                }
            }
            at += 8;
        }
        while let Some(&byte) = bytes.get(at) {
            if !self.has(byte) {
                return Some((at, byte));
            }
            at += 1;
        }
        None
    }

    /// How many bytes at the front of `bytes` are in the class.
    #[inline]
    pub(crate) fn run_length(self, bytes: &[u8]) -> usize {
        self.find_other(bytes, 0).map_or(bytes.len(), |(length, _)| length)
    }
}

/// Optional whitespace, `OWS` of RFC 9110 section 5.6.3.
#[inline]
pub(crate) fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What no line may hold inside: control bytes other than HTAB. CR and LF are among them.
#[inline]
pub(crate) fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// `bytes` without optional whitespace at both ends.
#[inline]
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    &bytes[trimmed(bytes, 0..bytes.len())]
}

/// `range` of `bytes` without optional whitespace at both ends. Mostly that's one space at the start.
#[inline]
pub(crate) fn trimmed(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let behind_space = range.start + 1..range.end;
    match &bytes[range.clone()] {
        [b' ', first, .., last] if !is_whitespace(*first) && !is_whitespace(*last) => behind_space,
        [b' ', only] if !is_whitespace(*only) => behind_space,
        _ => trimmed_of_any(bytes, range),
    }
}

#[inline(never)]
fn trimmed_of_any(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    while start < end && is_whitespace(bytes[start]) {
        start += 1;
    }
    while start < end && is_whitespace(bytes[end - 1]) {
        end -= 1;
    }
    start..end
}

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = classes_of(index as u8);
        index += 1;
    }
    table
}

const fn classes_of(byte: u8) -> u8 {
    let mut class = 0;
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        class |= TOKEN.0 | REG_NAME.0;
    }
    if matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'^' | b'`' | b'|') {
        class |= TOKEN.0;
    }
    if matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=') {
        class |= REG_NAME.0;
    }
    if byte.is_ascii_digit() {
        class |= DIGIT.0;
    }
    if byte.is_ascii_graphic() && byte != b'#' {
        class |= QUERY.0;
        if byte != b'?' {
            class |= PATH.0;
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(is_member: impl Fn(u8) -> bool) -> String {
        (0..=255u8).filter(|&byte| is_member(byte)).map(char::from).collect()
    }

    #[test]
    fn the_classes_hold_what_the_rfcs_list() {
        let alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let sorted = |extra: &str| {
            let mut all: Vec<char> = alphanumeric.chars().chain(extra.chars()).collect();
            all.sort_unstable();
            all.into_iter().collect::<String>()
        };
        assert_eq!(members(|byte| TOKEN.has(byte)), sorted("!#$%&'*+-.^_`|~"));
        assert_eq!(members(|byte| REG_NAME.has(byte)), sorted("-._~!$&'()*+,;="));
        assert_eq!(
            members(|byte| QUERY.has(byte)),
            (0x21..0x7fu8).map(char::from).filter(|&c| c != '#').collect::<String>()
        );
        assert_eq!(members(|byte| PATH.has(byte)), members(|byte| QUERY.has(byte)).replace('?', ""));
        assert_eq!(members(|byte| DIGIT.has(byte)), "0123456789");
        assert_eq!(members(is_control).len(), 31 + 1);
    }

    #[test]
    fn a_run_ends_at_the_first_other_byte_wherever_it_is() {
        for length in 0..30 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(TOKEN.run_length(&bytes), length);
            for other in (0..length).rev() {
                bytes[other] = b':';
                assert_eq!(TOKEN.run_length(&bytes), other);
                for start in 0..=other {
                    assert_eq!(TOKEN.find_other(&bytes, start), Some((other, b':')));
                }
            }
            assert_eq!(TOKEN.find_other(&vec![b'a'; length], length / 2), None);
            assert_eq!(TOKEN.find_other(&vec![b':'; length], length + 1), None);
        }
    }

    #[test]
    fn trim_takes_spaces_and_tabs_only() {
        assert_eq!(trim(b" \t a b\t "), b"a b");
        assert_eq!(trim(b" a"), b"a");
        assert_eq!(trim(b"  a"), b"a");
        assert_eq!(trim(b"\ta"), b"a");
        assert_eq!(trim(b" \ta"), b"a");
        assert_eq!(trim(b"a "), b"a");
        assert_eq!(trim(b"\ta "), b"a");
        assert_eq!(trim(b"a"), b"a");
        assert_eq!(trim(b" \t "), b"");
        assert_eq!(trim(b"  "), b"");
        assert_eq!(trim(b" "), b"");
        assert_eq!(trim(b""), b"");
        assert_eq!(trim(b"\x0ba"), b"\x0ba");
    }
}
