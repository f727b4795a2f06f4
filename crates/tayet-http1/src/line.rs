//! The lines of a head or of a trailer section, each of which is read once it is complete.
//!
//! A line is judged when its end is there, or a control byte, which no line may hold. Then its first fault
//! decides. So the outcome is the same wherever the input is cut.

use crate::Refusal;
use crate::byte::is_control;

/// Why a line isn't read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It needs more bytes.
    Incomplete,
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

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

    /// Whether to read the line now. One that hasn't been tried always is; one that needed more is only when
    /// its end is there, good or bad: so it costs the same however it is cut.
    #[inline]
    pub(crate) fn is_worth_a_try(&mut self, bytes: &[u8]) -> bool {
        self.scanned == self.start || self.finds_end(bytes)
    }

    /// After a try of the line at `start` that needs more than `bytes`.
    #[inline]
    pub(crate) fn wait_for_more(&mut self, start: usize, bytes: &[u8]) {
        *self = Self { start, scanned: bytes.len() - usize::from(bytes.ends_with(b"\r")) };
    }

    #[cold]
    fn finds_end(&mut self, bytes: &[u8]) -> bool {
        let is_there = has_end(bytes.get(self.scanned..).unwrap_or_default());
        if !is_there {
            self.wait_for_more(self.start, bytes);
        }
        is_there
    }
}

/// Where from `start` on the first control byte other than HTAB is, if there is one.
#[inline]
pub(crate) fn find_control(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(Ok(word)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let suspects = control_or_tab(u64::from_le_bytes(word));
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
    while let Some(&byte) = bytes.get(at) {
        if is_control(byte) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Where the line ends whose line end begins at `start`: there is a control byte, or the end of `bytes`.
#[inline]
pub(crate) fn end(bytes: &[u8], start: usize) -> Result<usize, Stop> {
    match bytes.get(start..start + 2) {
        Some(b"\r\n") => Ok(start + 2),
        _ => Err(end_fault(&bytes[start..])),
    }
}

#[cold]
fn end_fault(bytes: &[u8]) -> Stop {
    match bytes {
        [] | [b'\r'] => Stop::Incomplete,
        [b'\r', ..] => Refusal::BareCarriageReturn.into(),
        [b'\n', ..] => Refusal::BareLineFeed.into(),
        _ => Refusal::ControlByte.into(),
    }
}

/// What a parser says that wants something else than the rest of a line. A line is judged when its end is
/// there, good or bad; then the first fault counts.
#[cold]
pub(crate) fn unexpected(rest: &[u8], refusal: Refusal) -> Stop {
    match rest {
        _ if !has_end(rest) => Stop::Incomplete,
        [b'\r', b'\n', ..] => refusal.into(),
        [first, ..] if is_control(*first) => end_fault(rest),
        _ => refusal.into(),
    }
}

/// Whether a byte ends the line, good or bad. CR needs the next byte to tell.
fn has_end(bytes: &[u8]) -> bool {
    find_control(bytes, 0).is_some_and(|at| bytes[at..] != *b"\r")
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
                    let expected = is_control(byte).then_some(at);
                    for start in 0..=at {
                        let found = find_control(&bytes, start);
                        assert_eq!(found, expected, "byte {byte} at {at} of {length} from {start}");
                    }
                    assert_eq!(find_control(&bytes, at + 1), None);
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
                    assert_eq!(find_control(&bytes, 0), Some(at), "{control} among {filler}");
                }
            }
        }
    }

    #[test]
    fn only_a_carriage_return_with_a_line_feed_ends_a_line() {
        assert_eq!(end(b"a\r\nd", 1), Ok(3));
        assert_eq!(end(b"a\r", 1), Err(Stop::Incomplete));
        assert_eq!(end(b"a", 1), Err(Stop::Incomplete));
        assert_eq!(end(b"a\rd", 1), Err(Refusal::BareCarriageReturn.into()));
        assert_eq!(end(b"a\n", 1), Err(Refusal::BareLineFeed.into()));
        assert_eq!(end(b"a\0", 1), Err(Refusal::ControlByte.into()));
    }

    #[test]
    fn a_fault_waits_for_the_end_of_its_line() {
        let judge = |rest| unexpected(rest, Refusal::MissingColon);
        for incomplete in [&b""[..], b"(", b"(b\tc", b"(b\r", b"\r"] {
            assert_eq!(judge(incomplete), Stop::Incomplete, "{}", incomplete.escape_ascii());
        }
        for complete in [&b"(b\r\n"[..], b"(b\n", b"(b\0", b"(b\rc", b"\r\n"] {
            assert_eq!(judge(complete), Refusal::MissingColon.into(), "{}", complete.escape_ascii());
        }
        assert_eq!(judge(b"\0"), Refusal::ControlByte.into());
        assert_eq!(judge(b"\n"), Refusal::BareLineFeed.into());
        assert_eq!(judge(b"\ra"), Refusal::BareCarriageReturn.into());
    }

    #[test]
    fn a_line_is_tried_at_first_and_then_only_when_its_end_is_there() {
        let mut lines = Lines::default();
        assert!(lines.is_worth_a_try(b"ab"));
        lines.wait_for_more(0, b"ab");
        for incomplete in [&b"ab"[..], b"abc\td", b"abc\td\r"] {
            assert!(!lines.is_worth_a_try(incomplete));
        }
        for complete in [&b"abc\td\r\n"[..], b"abc\td\rx"] {
            assert!(lines.is_worth_a_try(complete));
        }
        lines.wait_for_more(7, b"abc\td\r\n");
        assert!(lines.is_worth_a_try(b"abc\td\r\n"), "nothing of the next line was there");
    }

    #[test]
    fn no_byte_of_a_dripped_line_is_looked_at_again() {
        let line = b"X: some value\twith all sorts of bytes \xff\r\n";
        let mut lines = Lines::default();
        for length in 1..line.len() {
            let bytes = &line[..length];
            if lines.is_worth_a_try(bytes) {
                assert_eq!(length, 1, "only the first byte is tried");
                lines.wait_for_more(0, bytes);
            }
            assert_eq!(lines.scanned, length - usize::from(bytes.ends_with(b"\r")));
        }
        assert!(lines.is_worth_a_try(line));
    }
}
