//! A stretch of memory, for tests of what lies on one cache line.

use std::ops::Range;

/// Two lines, which are fetched together by some processors.
pub(crate) const LINES_BYTES: usize = 128;

/// Where a value lies.
#[derive(Debug)]
pub(crate) struct Span(Range<usize>);

impl Span {
    pub(crate) fn of<T: ?Sized>(value: &T) -> Self {
        let start = std::ptr::from_ref(value).cast::<u8>().addr();
        Self(start..start + size_of_val(value))
    }

    /// Whether nothing lies before it on its lines.
    pub(crate) fn begins_lines(&self) -> bool {
        self.0.start.is_multiple_of(LINES_BYTES)
    }

    pub(crate) fn shares_lines_with(&self, other: &Self) -> bool {
        self.0.start / LINES_BYTES <= (other.0.end - 1) / LINES_BYTES
            && other.0.start / LINES_BYTES <= (self.0.end - 1) / LINES_BYTES
    }
}

#[test]
fn neighbours_share_lines() {
    let bytes = [0_u8; 3 * LINES_BYTES];
    let first = bytes.as_ptr().addr().next_multiple_of(LINES_BYTES) - bytes.as_ptr().addr();
    let (low, high) = bytes[first..].split_at(LINES_BYTES);
    assert!(!Span::of(low).shares_lines_with(&Span::of(&high[0])));
    assert!(Span::of(&low[1]).shares_lines_with(&Span::of(&low[LINES_BYTES - 1])));
}
