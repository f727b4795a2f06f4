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

static CLASSES: [u8; 256] = classes();

impl Class {
    #[inline]
    pub(crate) fn has(self, byte: u8) -> bool {
        CLASSES[usize::from(byte)] & self.0 != 0
    }

    /// How many bytes at the front of `bytes` are in the class.
    ///
    /// Eight at a time, so that bounds are checked once for them.
    #[inline]
    pub(crate) fn run_length(self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
            for (offset, &byte) in eight.iter().enumerate() {
                if !self.has(byte) {
                    return bytes.len() - rest.len() + offset;
                }
            }
            rest = behind;
        }
        let length = rest.iter().position(|&byte| !self.has(byte)).unwrap_or(rest.len());
        bytes.len() - rest.len() + length
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
    &bytes[trimmed(bytes)]
}

/// Where `bytes` are without optional whitespace at both ends. Mostly that's one space at the start.
#[inline]
pub(crate) fn trimmed(bytes: &[u8]) -> Range<usize> {
    let start = usize::from(bytes.first() == Some(&b' '));
    let needs_more = match &bytes[start..] {
        [] => false,
        [first, ..] if is_whitespace(*first) => true,
        [.., last] => is_whitespace(*last),
    };
    if needs_more { trimmed_further(bytes, start) } else { start..bytes.len() }
}

#[cold]
fn trimmed_further(bytes: &[u8], mut start: usize) -> Range<usize> {
    let mut end = bytes.len();
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
            }
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
