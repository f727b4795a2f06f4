//! The end of a line, found with a look at every byte on the way.

use crate::Refusal;
use crate::byte::is_control;

/// Where the CR of the first CRLF at or after `from` is. `None`: there's none yet.
///
/// Whatever a line may not hold is refused here: bare CR, bare LF, control bytes. The first such byte decides, so it
/// makes no difference how much of the line is there already.
#[inline]
pub(crate) fn find_end(bytes: &[u8], from: usize) -> Result<Option<usize>, Refusal> {
    let Some(at) = find_control(bytes, from) else { return Ok(None) };
    match (bytes[at], bytes.get(at + 1)) {
        (b'\r', Some(b'\n')) => Ok(Some(at)),
        (b'\r', Some(_)) => Err(Refusal::BareCarriageReturn),
        (b'\r', None) => Ok(None),
        (b'\n', _) => Err(Refusal::BareLineFeed),
        _ => Err(Refusal::ControlByte),
    }
}

/// Where [`find_end`] goes on when more bytes have come: all but a CR at the end need no second look.
pub(crate) fn resume_at(bytes: &[u8]) -> usize {
    bytes.len() - usize::from(bytes.last() == Some(&b'\r'))
}

#[inline]
fn find_control(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = bytes.get(at..at + 8) {
        let suspects = control_or_tab(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        if suspects == 0 {
            at += 8;
            continue;
        }
        at += suspects.trailing_zeros() as usize / 8;
        if bytes[at] != b'\t' {
            return Some(at);
        }
        at += 1;
    }
    let rest = bytes.get(at..)?;
    rest.iter().position(|&byte| is_control(byte)).map(|offset| at + offset)
}

/// Sets the highest bit of bytes under 0x20 and of 0x7f. The lowest bit set is right; those above it may be false
/// alarms, since a subtraction borrows upwards only.
#[inline]
fn control_or_tab(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let under_space = word.wrapping_sub(ONES * 0x20) & !word;
    let without_delete = word ^ (ONES * 0x7f);
    let delete = without_delete.wrapping_sub(ONES) & !without_delete;
    (under_space | delete) & (ONES * 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_seen_for_what_it_is() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut line = vec![b'x'; length];
                    line[at] = byte;
                    line.extend_from_slice(b"\r\n");
                    let expected = match byte {
                        b'\r' if at + 1 == length => Err(Refusal::BareCarriageReturn),
                        b'\r' => Err(Refusal::BareCarriageReturn),
                        b'\n' => Err(Refusal::BareLineFeed),
                        byte if is_control(byte) => Err(Refusal::ControlByte),
                        _ => Ok(Some(length)),
                    };
                    assert_eq!(find_end(&line, 0), expected, "byte {byte} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn high_bytes_and_tabs_hide_nothing_behind_them() {
        for filler in [0x80, 0xff, b'\t', 0x20, 0x7e] {
            for at in 0..24 {
                let mut line = vec![filler; 24];
                line[at] = 0x7f;
                assert_eq!(find_end(&line, 0), Err(Refusal::ControlByte), "DEL at {at} among {filler}");
                line[at] = 0;
                assert_eq!(find_end(&line, 0), Err(Refusal::ControlByte), "NUL at {at} among {filler}");
            }
        }
    }

    #[test]
    fn a_carriage_return_at_the_end_waits_for_what_follows() {
        assert_eq!(find_end(b"abc\r", 0), Ok(None));
        assert_eq!(resume_at(b"abc\r"), 3);
        assert_eq!(resume_at(b"abc"), 3);
        assert_eq!(find_end(b"abc\r\n", 3), Ok(Some(3)));
    }
}
