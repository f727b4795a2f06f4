//! Fetching ahead what will be needed.

use crate::sys;

const CACHE_LINE_BYTES: usize = 64;
const LINE_MASK: usize = CACHE_LINE_BYTES - 1;

/// Lines of a companion that are fetched beside its last. One of 160 bytes lies on three or four.
const COMPANION_LINES: usize = 3;

/// Has the processor fetch a value into its caches while it goes on: worth it for what is needed soon, but not at once, and
/// likely lies in memory. What the value points to is not fetched.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(CACHE_LINE_BYTES) {
        sys::prefetch_line(address.wrapping_add(line * CACHE_LINE_BYTES));
    }
    if align_of::<T>() < CACHE_LINE_BYTES {
        // It may not begin where a line does, and so reach into one more.
        sys::prefetch_line(address.wrapping_add(size_of::<T>().saturating_sub(1)));
    }
}

/// Where a value lies that is needed together with another, and so is to be fetched ahead: by default nowhere. Nothing is ever
/// read by it, so that it may outlive the value. Of a large one the first lines and the last are fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Companion {
    /// The first line's address; in the bits that are zero in it, how many lines are behind that one.
    lines: usize,
}

impl Companion {
    /// That one's.
    pub fn of<T>(value: &T) -> Self {
        let address = std::ptr::from_ref(value).addr();
        let first = address & !LINE_MASK;
        let behind = (address + size_of::<T>().saturating_sub(1) - first) / CACHE_LINE_BYTES;
        Self { lines: first | behind.min(LINE_MASK) }
    }

    /// Has the processor fetch it while it goes on.
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        let line = |number: usize| {
            let address = (self.lines & !LINE_MASK) + number * CACHE_LINE_BYTES;
            sys::prefetch_line(std::ptr::without_provenance(address));
        };
        // Without a question how many there are: to fetch one twice, or one that is not needed, costs less than to guess wrong.
        (0..COMPANION_LINES).for_each(line);
        line(self.lines & LINE_MASK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the lines of a value lie, from the first one's beginning.
    fn lines_of<T>(value: &T) -> (usize, usize) {
        let companion = Companion::of(value);
        let first = companion.lines & !LINE_MASK;
        assert!((0..CACHE_LINE_BYTES).contains(&(std::ptr::from_ref(value).addr() - first)));
        (first, companion.lines & LINE_MASK)
    }

    #[test]
    fn a_companion_reaches_from_its_first_line_to_its_last() {
        #[repr(align(64))]
        struct Memory([u8; 8 * CACHE_LINE_BYTES]);
        let Memory(memory) = &Memory([0; 8 * CACHE_LINE_BYTES]);
        let start = std::ptr::from_ref(memory).addr();
        let part = |offset: usize| memory[offset..].first_chunk::<160>().unwrap();
        for (offset, line, behind) in [(0, 0, 2), (16, 0, 2), (32, 0, 2), (48, 0, 3), (112, 1, 3)] {
            assert_eq!(lines_of(part(offset)), (start + line * CACHE_LINE_BYTES, behind), "at {offset}");
        }
        assert_eq!(lines_of(memory), (start, 7));
        assert_eq!(lines_of(&memory[63]), (start, 0));
    }

    #[test]
    fn nothing_is_read_by_a_companion_that_is_no_more() {
        let companion = Companion::of(&*Box::new([0_u8; 1000]));
        companion.prefetch();
        Companion::default().prefetch();
    }
}
