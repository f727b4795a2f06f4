//! Which bytes of a file have come.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Which bytes of a file have come: ranges in ascending order that neither overlap nor touch.
///
/// What was not inserted is never contained.
///
/// ```
/// use tayet_tus::ByteRanges;
///
/// let mut received = ByteRanges::default();
/// received.insert(0..10);
/// received.insert(20..30);
/// assert!(!received.contains(0..30));
/// received.insert(5..25);
/// assert!(received.contains(0..30));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRanges {
    ranges: Vec<Range<u64>>,
}

impl ByteRanges {
    /// No bytes.
    pub const NOTHING: Self = Self { ranges: Vec::new() };

    /// Adds bytes; some or all of them may be there already.
    pub fn insert(&mut self, added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        // What ends before it and what begins behind it stay; all between melts into one.
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let past = self.ranges.partition_point(|range| range.start <= added.end);
        let joined = self.ranges[first..past]
            .iter()
            .fold(added, |joined, range| joined.start.min(range.start)..joined.end.max(range.end));
        self.ranges.splice(first..past, [joined]);
    }

    /// Takes bytes out; some or all of them may be missing already.
    pub fn remove(&mut self, removed: Range<u64>) {
        if removed.is_empty() {
            return;
        }
        let around = |range: Range<u64>| {
            let (before, behind) =
                (range.start..range.end.min(removed.start), range.start.max(removed.end)..range.end);
            [before, behind].into_iter().filter(|part| !part.is_empty())
        };
        self.ranges = std::mem::take(&mut self.ranges).into_iter().flat_map(around).collect();
    }

    /// Whether all of these bytes have come; true of none.
    pub fn contains(&self, wanted: Range<u64>) -> bool {
        wanted.is_empty()
            || self.ranges.iter().any(|range| range.start <= wanted.start && wanted.end <= range.end)
    }

    /// How many bytes have come.
    pub fn total_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// How many bytes have come from the file's beginning on without a gap.
    pub fn contiguous_bytes(&self) -> u64 {
        self.ranges.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// One past the last byte that has come.
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    /// The ranges, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().cloned()
    }

    /// How many ranges there are.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn touching_ranges_become_one() {
        let mut received = ByteRanges::default();
        [10..20, 0..10, 25..30, 20..25].into_iter().for_each(|range| received.insert(range));
        assert_eq!(received.count(), 1);
        assert_eq!((received.contiguous_bytes(), received.total_bytes(), received.end()), (30, 30, 30));
    }

    #[test]
    fn a_gap_is_not_received() {
        let mut received = ByteRanges::default();
        received.insert(0..4);
        received.insert(6..8);
        assert!(!received.contains(3..7) && !received.contains(4..5));
        assert_eq!((received.contiguous_bytes(), received.total_bytes(), received.end()), (4, 6, 8));
        assert_eq!(received.contiguous_bytes(), 4);
    }

    proptest! {
        #[test]
        fn it_holds_exactly_what_was_inserted(
            parts in prop::collection::vec((0u64..64, 0u64..64, prop::bool::weighted(0.7)), 0..12),
        ) {
            let mut received = ByteRanges::default();
            let mut bytes = [false; 64];
            for (a, b, is_insertion) in parts {
                let range = a.min(b)..a.max(b);
                range.clone().for_each(|at| bytes[at as usize] = is_insertion);
                if is_insertion { received.insert(range) } else { received.remove(range) }
            }
            for (at, byte) in bytes.into_iter().enumerate() {
                prop_assert_eq!(received.contains(at as u64..at as u64 + 1), byte);
            }
            let ranges: Vec<_> = received.iter().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
