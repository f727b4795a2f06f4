//! Classes of bytes, looked up in one table.

const TOKEN: u8 = 1;
const PATH: u8 = 2;
const QUERY: u8 = 4;
const REG_NAME: u8 = 8;

static CLASSES: [u8; 256] = classes();

/// `tchar` of RFC 9110 section 5.6.2.
#[inline]
pub(crate) fn is_token(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & TOKEN != 0
}

/// Visible ASCII without `?` and `#`, which end a path.
#[inline]
pub(crate) fn is_path(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & PATH != 0
}

/// Visible ASCII without `#`, which would begin a fragment.
#[inline]
pub(crate) fn is_query(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & QUERY != 0
}

/// `unreserved` or `sub-delims` of RFC 3986: a registered name's bytes, save for percent-encoding.
#[inline]
pub(crate) fn is_reg_name(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & REG_NAME != 0
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
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_whitespace(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_whitespace(*last)
    {
        bytes = rest;
    }
    bytes
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
        class |= TOKEN | REG_NAME;
    }
    if matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'^' | b'`' | b'|') {
        class |= TOKEN;
    }
    if matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=') {
        class |= REG_NAME;
    }
    if byte.is_ascii_graphic() && byte != b'#' {
        class |= QUERY;
        if byte != b'?' {
            class |= PATH;
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(class: fn(u8) -> bool) -> String {
        (0..=255u8).filter(|&byte| class(byte)).map(char::from).collect()
    }

    #[test]
    fn the_classes_hold_what_the_rfcs_list() {
        let alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let sorted = |extra: &str| {
            let mut all: Vec<char> = alphanumeric.chars().chain(extra.chars()).collect();
            all.sort_unstable();
            all.into_iter().collect::<String>()
        };
        assert_eq!(members(is_token), sorted("!#$%&'*+-.^_`|~"));
        assert_eq!(members(is_reg_name), sorted("-._~!$&'()*+,;="));
        assert_eq!(
            members(is_query),
            (0x21..0x7fu8).map(char::from).filter(|&c| c != '#').collect::<String>()
        );
        assert_eq!(members(is_path), members(is_query).replace('?', ""));
        assert_eq!(members(is_control).len(), 31 + 1);
    }

    #[test]
    fn trim_takes_spaces_and_tabs_only() {
        assert_eq!(trim(b" \t a b\t "), b"a b");
        assert_eq!(trim(b" \t "), b"");
        assert_eq!(trim(b"\x0ba"), b"\x0ba");
    }
}
