//! Which parts of a representation a client asks for.

use std::ops::Range;

/// Most ranges of one request that are served apart; with more, the whole is sent.
pub const MAX_BYTE_RANGES: usize = 32;

/// Parts that are no farther apart than this are sent as one: what stands between two parts is longer.
const MERGED_GAP_BYTES: u64 = 80;

/// What a `Range` field asks of a representation (RFC 9110 section 14.2).
///
/// ```
/// use tayet::files::ByteRanges;
///
/// assert_eq!(ByteRanges::parse("bytes=0-99", 1_000), ByteRanges::Parts(vec![0..100]));
/// assert_eq!(ByteRanges::parse("bytes=-1", 1_000), ByteRanges::Parts(vec![999..1_000]));
/// assert_eq!(ByteRanges::parse("bytes=1000-", 1_000), ByteRanges::Unsatisfiable);
/// assert_eq!(ByteRanges::parse("lines=1-2", 1_000), ByteRanges::Whole);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteRanges {
    /// All of it: the field is malformed, of another unit, or names more than [`MAX_BYTE_RANGES`]; or there is nothing to take a
    /// part of.
    Whole,
    /// These parts, at least one: none is empty, none touches another, all lie within the representation. They are in the order
    /// of the field, or ascending if some were joined.
    Parts(Vec<Range<u64>>),
    /// None of its ranges lies within the representation: 416.
    Unsatisfiable,
}

impl ByteRanges {
    /// Reads a `Range` field's value for a representation of `size_bytes`.
    pub fn parse(field: &str, size_bytes: u64) -> Self {
        let Some(ranges) = parse_list(field) else { return Self::Whole };
        if size_bytes == 0 {
            return Self::Whole;
        }
        let parts: Vec<_> = ranges.into_iter().filter_map(|range| range.within(size_bytes)).collect();
        if parts.is_empty() { Self::Unsatisfiable } else { Self::Parts(joined(parts)) }
    }
}

/// One range as it was sent.
enum Asked {
    /// From the first to the last, both included.
    FromTo(u64, u64),
    From(u64),
    Suffix(u64),
}

impl Asked {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once('-')? {
            ("", suffix) => Some(Self::Suffix(number(suffix)?)),
            (first, "") => Some(Self::From(number(first)?)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::FromTo(first, last))
            }
        }
    }

    fn within(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::FromTo(first, last) => first..size.min(last.saturating_add(1)),
            Self::From(first) => first..size,
            Self::Suffix(length) => size - length.min(size)..size,
        };
        (!range.is_empty()).then_some(range)
    }
}

fn parse_list(field: &str) -> Option<Vec<Asked>> {
    let (unit, list) = field.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let members = list.split(',').map(str::trim).filter(|member| !member.is_empty());
    let ranges = members.take(MAX_BYTE_RANGES + 1).map(Asked::parse).collect::<Option<Vec<_>>>()?;
    (1..=MAX_BYTE_RANGES).contains(&ranges.len()).then_some(ranges)
}

/// A number too large to be held is larger than any representation.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Joins what overlaps or nearly touches; leaves the order where there is nothing to join.
fn joined(parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut sorted = parts.clone();
    sorted.sort_by_key(|part| part.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for part in sorted {
        match merged.last_mut() {
            Some(last) if part.start <= last.end.saturating_add(MERGED_GAP_BYTES) => {
                last.end = last.end.max(part.end);
            }
            _ => merged.push(part),
        }
    }
    if merged.len() == parts.len() { parts } else { merged }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_mean_what_the_standard_says() {
        use ByteRanges::{Parts, Unsatisfiable, Whole};
        for (field, meaning) in [
            ("bytes=0-0", Parts(vec![0..1])),
            ("bytes=0-499", Parts(vec![0..500])),
            ("bytes=500-", Parts(vec![500..1000])),
            ("bytes=-500", Parts(vec![500..1000])),
            ("bytes=-5000", Parts(vec![0..1000])),
            ("bytes=900-5000", Parts(vec![900..1000])),
            ("bytes=900-99999999999999999999999", Parts(vec![900..1000])),
            ("Bytes = 1-2", Parts(vec![1..3])),
            ("bytes=0-9, 500-509 ,, -10", Parts(vec![0..10, 500..510, 990..1000])),
            ("bytes=-10,0-9", Parts(vec![990..1000, 0..10])),
            ("bytes=0-9,5-20", Parts(vec![0..21])),
            ("bytes=500-600,0-9,550-700", Parts(vec![0..10, 500..701])),
            ("bytes=0-9,50-59", Parts(vec![0..60])),
            ("bytes=0-9,2000-", Parts(vec![0..10])),
            ("bytes=1000-", Unsatisfiable),
            ("bytes=99999999999999999999999-", Unsatisfiable),
            ("bytes=-0", Unsatisfiable),
            ("bytes=1000-1001,-0", Unsatisfiable),
            ("bytes=", Whole),
            ("bytes=,", Whole),
            ("bytes=-", Whole),
            ("bytes=1", Whole),
            ("bytes=2-1", Whole),
            ("bytes=0-1,x", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=1 -2", Whole),
            ("bytes 0-1", Whole),
            ("items=0-1", Whole),
            ("", Whole),
        ] {
            assert_eq!(ByteRanges::parse(field, 1000), meaning, "{field}");
        }
    }

    #[test]
    fn there_is_no_part_of_nothing() {
        assert_eq!(ByteRanges::parse("bytes=0-", 0), ByteRanges::Whole);
        assert_eq!(ByteRanges::parse("bytes=-1", 0), ByteRanges::Whole);
    }

    #[test]
    fn as_many_ranges_as_the_limit_are_served() {
        let list = |count: u64| {
            let ranges: Vec<_> = (0..count).map(|n| format!("{}-{}", n * 1_000, n * 1_000)).collect();
            ByteRanges::parse(&format!("bytes={}", ranges.join(",")), 1 << 20)
        };
        assert!(
            matches!(list(MAX_BYTE_RANGES as u64), ByteRanges::Parts(parts) if parts.len() == MAX_BYTE_RANGES)
        );
        assert_eq!(list(MAX_BYTE_RANGES as u64 + 1), ByteRanges::Whole);
    }

    proptest! {
        #[test]
        fn parts_lie_within_and_apart(field in "bytes=([0-9]{0,4}-[0-9]{0,4},?){0,6}", size in 0u64..3_000) {
            if let ByteRanges::Parts(mut parts) = ByteRanges::parse(&field, size) {
                prop_assert!(!parts.is_empty());
                parts.sort_by_key(|part| part.start);
                prop_assert!(parts.iter().all(|part| part.start < part.end && part.end <= size));
                prop_assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
