//! Whatever a client asks for, the parts of a file that it gets lie within the file and apart from each other, and are those
//! that the ranges name.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tayet::files::{ByteRanges, MAX_BYTE_RANGES};

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    field: &'a str,
    /// Made into a well-formed field.
    ranges: Vec<(Option<u64>, Option<u64>)>,
    size_bytes: u64,
}

fuzz_target!(|case: Case| {
    check(case.field, case.size_bytes);
    let ranges: Vec<String> =
        case.ranges.iter().map(|(first, last)| format!("{}-{}", text(first), text(last))).collect();
    let field = format!("bytes={}", ranges.join(","));
    let meaning = check(&field, case.size_bytes);
    compare(&case, meaning);
});

fn text(number: &Option<u64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

fn check(field: &str, size_bytes: u64) -> ByteRanges {
    let meaning = ByteRanges::parse(field, size_bytes);
    if let ByteRanges::Parts(parts) = &meaning {
        assert!((1..=MAX_BYTE_RANGES).contains(&parts.len()));
        assert!(parts.iter().all(|part| part.start < part.end && part.end <= size_bytes));
        let mut sorted = parts.clone();
        sorted.sort_by_key(|part| part.start);
        assert!(sorted.windows(2).all(|pair| pair[0].end < pair[1].start), "two parts touch");
    }
    meaning
}

/// The first and the last byte of each range, as the standard counts them, are in a part.
fn compare(case: &Case, meaning: ByteRanges) {
    let size = u128::from(case.size_bytes);
    let mut wanted = Vec::new();
    for (first, last) in &case.ranges {
        let (first, last) = match (first.map(u128::from), last.map(u128::from)) {
            (Some(first), Some(last)) if first <= last => (first, last.min(size.saturating_sub(1))),
            (Some(first), None) => (first, size.saturating_sub(1)),
            (None, Some(length)) => (size - length.min(size), size.saturating_sub(u128::from(length == 0))),
            _ => return assert_eq!(meaning, ByteRanges::Whole),
        };
        if first < size && first <= last {
            wanted.push((first, last.min(size - 1)));
        }
    }
    match meaning {
        ByteRanges::Parts(parts) => {
            let holds = |at: u128| {
                parts.iter().any(|part| (u128::from(part.start)..u128::from(part.end)).contains(&at))
            };
            assert!(!wanted.is_empty());
            assert!(wanted.iter().all(|&(first, last)| holds(first) && holds(last)));
        }
        ByteRanges::Unsatisfiable => assert!(wanted.is_empty() && size > 0),
        ByteRanges::Whole => {
            assert!(size == 0 || case.ranges.is_empty() || case.ranges.len() > MAX_BYTE_RANGES);
        }
    }
}
