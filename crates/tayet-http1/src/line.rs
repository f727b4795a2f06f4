//! The lines of a head or of a trailer section, each of which is read once it is complete.
//!
//! A line is judged when its end is there, or a control byte, which no line may hold. Then its first fault
//! decides. So the outcome is the same wherever the input is cut.

use crate::Refusal;
use crate::byte::is_control;

/// How far lines have been read, in a buffer that grows.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Lines {
    start: usize,
    scanned: usize,
}

impl Lines {
    /// Where the line begins that is to be read next.
    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    #[inline]
    pub(crate) fn begin_line(&mut self, start: usize) {
        *self = Self { start, scanned: start };
    }

    /// Whether to read the line now. One that hasn't been tried always is; one that needed more is only when
    /// its end is there, good or bad: so it costs the same however it is cut.
    #[inline]
    pub(crate) fn is_worth_a_try(&mut self, bytes: &[u8]) -> bool {
        self.scanned == self.start || self.finds_end(bytes)
    }

    /// After a try that needs more than `bytes`.
    pub(crate) fn wait_for_more(&mut self, bytes: &[u8]) {
        self.scanned = bytes.len() - usize::from(bytes.ends_with(b"\r"));
    }

    #[cold]
    fn finds_end(&mut self, bytes: &[u8]) -> bool {
        let is_there = has_end(bytes.get(self.scanned..).unwrap_or_default());
        if !is_there {
            self.wait_for_more(bytes);
        }
        is_there
    }
}

/// Where the first control byte other than HTAB is, or the length of `bytes`.
#[inline]
pub(crate) fn find_control(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let suspects = control_or_tab(u64::from_le_bytes(*word));
        if suspects == 0 {
            rest = behind;
            continue;
        }
        let offset = suspects.trailing_zeros() as usize / 8;
        if rest[offset] != b'\t' {
            return bytes.len() - rest.len() + offset;
        }
        rest = &rest[offset + 1..];
    }
    let length = rest.iter().position(|&byte| is_control(byte)).unwrap_or(rest.len());
    bytes.len() - rest.len() + length
}

/// How long the line end is that `bytes` begin with. `None`: the first half of it may be there.
///
/// Bytes that begin with another control byte are refused. The caller sees to it that they begin with a
/// control byte.
#[inline]
pub(crate) fn end_length(bytes: &[u8]) -> Result<Option<usize>, Refusal> {
    match bytes {
        [b'\r', b'\n', ..] => Ok(Some(2)),
        [] | [b'\r'] => Ok(None),
        [b'\r', ..] => Err(Refusal::BareCarriageReturn),
        [b'\n', ..] => Err(Refusal::BareLineFeed),
        _ => Err(Refusal::ControlByte),
    }
}

/// What a parser says that wants something else than the rest of a line. A line is judged when its end is
/// there, good or bad; then the first fault counts.
#[cold]
pub(crate) fn unexpected<T>(rest: &[u8], refusal: Refusal) -> Result<Option<T>, Refusal> {
    if !has_end(rest) {
        return Ok(None);
    }
    if is_control(rest[0]) {
        end_length(rest)?;
    }
    Err(refusal)
}

/// Whether a byte ends the line, good or bad. CR needs the next byte to tell.
fn has_end(bytes: &[u8]) -> bool {
    !matches!(bytes[find_control(bytes)..], [] | [b'\r'])
}

/// Sets the highest bit of bytes under 0x20 and of 0x7f. The lowest bit set is right; those above it may be
/// false alarms, since a subtraction borrows upwards only.
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
    fn every_control_byte_is_found_at_every_place() {
        for length in 0..32 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = byte;
                    let expected = if is_control(byte) { at } else { length };
                    assert_eq!(find_control(&bytes), expected, "byte {byte} at {at} of {length}");
                    assert_eq!(find_control(&bytes[at + 1..]), length - at - 1);
                }
            }
        }
    }

    #[test]
    fn high_bytes_and_tabs_hide_nothing_behind_them() {
        for filler in [0x80, 0xff, b'\t', 0x20, 0x7e] {
            for at in 0..24 {
                for control in [0x7f, 0, 0x1f, b'\r'] {
                    let mut bytes = [filler; 24];
                    bytes[at] = control;
                    assert_eq!(find_control(&bytes), at, "{control} among {filler}");
                }
            }
        }
    }

    #[test]
    fn only_a_carriage_return_with_a_line_feed_ends_a_line() {
        assert_eq!(end_length(b"\r\nd"), Ok(Some(2)));
        assert_eq!(end_length(b"\r"), Ok(None));
        assert_eq!(end_length(b""), Ok(None));
        assert_eq!(end_length(b"\rd"), Err(Refusal::BareCarriageReturn));
        assert_eq!(end_length(b"\n"), Err(Refusal::BareLineFeed));
        assert_eq!(end_length(b"\0"), Err(Refusal::ControlByte));
    }

    #[test]
    fn a_fault_waits_for_the_end_of_its_line() {
        let judge = |rest| unexpected::<()>(rest, Refusal::MissingColon);
        for incomplete in [&b""[..], b"(", b"(b\tc", b"(b\r", b"\r"] {
            assert_eq!(judge(incomplete), Ok(None), "{}", incomplete.escape_ascii());
        }
        for complete in [&b"(b\r\n"[..], b"(b\n", b"(b\0", b"(b\rc", b"\r\n"] {
            assert_eq!(judge(complete), Err(Refusal::MissingColon), "{}", complete.escape_ascii());
        }
        assert_eq!(judge(b"\0"), Err(Refusal::ControlByte));
        assert_eq!(judge(b"\n"), Err(Refusal::BareLineFeed));
        assert_eq!(judge(b"\ra"), Err(Refusal::BareCarriageReturn));
    }

    #[test]
    fn a_line_is_tried_at_first_and_then_only_when_its_end_is_there() {
        let mut lines = Lines::default();
        assert!(lines.is_worth_a_try(b"ab"));
        lines.wait_for_more(b"ab");
        for incomplete in [&b"ab"[..], b"abc\td", b"abc\td\r"] {
            assert!(!lines.is_worth_a_try(incomplete));
        }
        for complete in [&b"abc\td\r\n"[..], b"abc\td\rx"] {
            assert!(lines.is_worth_a_try(complete));
        }
        lines.begin_line(7);
        assert!(lines.is_worth_a_try(b"abc\td\r\n"));
    }

    #[test]
    fn no_byte_of_a_dripped_line_is_looked_at_again() {
        let line = b"X: some value\twith all sorts of bytes \xff\r\n";
        let mut lines = Lines::default();
        for length in 1..line.len() {
            let bytes = &line[..length];
            if lines.is_worth_a_try(bytes) {
                assert_eq!(length, 1, "only the first byte is tried");
                lines.wait_for_more(bytes);
            }
            assert_eq!(lines.scanned, length - usize::from(bytes.ends_with(b"\r")));
        }
        assert!(lines.is_worth_a_try(line));
    }
}
