//! The lines of a head or of a trailer section, each of which is read once it is complete.
//!
//! A line is judged when its end is there, or a control byte, which no line may hold. Then its first fault decides. So the
//! outcome is the same wherever the input is cut.

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

    /// Whether to read the line now. One that hasn't been tried always is; one that needed more is only when its end is
    /// there, good or bad: so it costs the same however it is cut.
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
        let is_there = ends_after(bytes, self.scanned);
        if !is_there {
            self.wait_for_more(bytes);
        }
        is_there
    }
}

/// Where the first control byte other than HTAB is, at or after `from`, or the length of `bytes`.
#[inline]
pub(crate) fn find_control(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let suspects = control_or_tab(u64::from_le_bytes(word));
        if suspects == 0 {
            at += 8;
            continue;
        }
        at += suspects.trailing_zeros() as usize / 8;
        if bytes[at] != b'\t' {
            return at;
        }
        at += 1;
    }
    while bytes.get(at).is_some_and(|&byte| !is_control(byte)) {
        at += 1;
    }
    at
}

/// What a control byte at `at` means: the CRLF that ends a line (then where the next line begins), half a CRLF
/// (`None`), or a fault.
#[inline]
pub(crate) fn end(bytes: &[u8], at: usize) -> Result<Option<usize>, Refusal> {
    match bytes.get(at..).unwrap_or_default() {
        [b'\r', b'\n', ..] => Ok(Some(at + 2)),
        [] | [b'\r'] => Ok(None),
        [b'\r', ..] => Err(Refusal::BareCarriageReturn),
        [b'\n', ..] => Err(Refusal::BareLineFeed),
        _ => Err(Refusal::ControlByte),
    }
}

/// What a parser says that wants something else at `at`. A line is judged when its end is there, good or bad; then the
/// first fault counts.
#[cold]
pub(crate) fn unexpected<T>(bytes: &[u8], at: usize, refusal: Refusal) -> Result<Option<T>, Refusal> {
    if !ends_after(bytes, at) {
        return Ok(None);
    }
    if is_control(bytes[at]) {
        end(bytes, at)?;
    }
    Err(refusal)
}

/// Whether a byte at or after `from` ends the line, good or bad. CR needs the next byte to tell.
fn ends_after(bytes: &[u8], from: usize) -> bool {
    !matches!(bytes.get(find_control(bytes, from)..), None | Some([] | [b'\r']))
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
    fn every_control_byte_is_found_at_every_place() {
        for length in 0..32 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = byte;
                    let expected = if is_control(byte) { at } else { length };
                    assert_eq!(find_control(&bytes, 0), expected, "byte {byte} at {at} of {length}");
                    assert_eq!(find_control(&bytes, at + 1), length);
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
                    assert_eq!(find_control(&bytes, 0), at, "{control} among {filler}");
                }
            }
        }
    }

    #[test]
    fn only_a_carriage_return_with_a_line_feed_ends_a_line() {
        assert_eq!(end(b"abc\r\nd", 3), Ok(Some(5)));
        assert_eq!(end(b"abc\r", 3), Ok(None));
        assert_eq!(end(b"abc", 3), Ok(None));
        assert_eq!(end(b"abc\rd", 3), Err(Refusal::BareCarriageReturn));
        assert_eq!(end(b"abc\n", 3), Err(Refusal::BareLineFeed));
        assert_eq!(end(b"abc\0", 3), Err(Refusal::ControlByte));
    }

    #[test]
    fn a_fault_waits_for_the_end_of_its_line() {
        let judge = |bytes| unexpected::<()>(bytes, 1, Refusal::MissingColon);
        for incomplete in [&b"a"[..], b"a(", b"a(b\tc", b"a(b\r", b"a\r"] {
            assert_eq!(judge(incomplete), Ok(None), "{}", incomplete.escape_ascii());
        }
        for complete in [&b"a(b\r\n"[..], b"a(b\n", b"a(b\0", b"a(b\rc", b"a\r\n"] {
            assert_eq!(judge(complete), Err(Refusal::MissingColon), "{}", complete.escape_ascii());
        }
        assert_eq!(judge(b"a\0"), Err(Refusal::ControlByte));
        assert_eq!(judge(b"a\n"), Err(Refusal::BareLineFeed));
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
}
