//! Texts of a few bytes, as hosts and paths are.

/// Whether two texts are the same, byte for byte. Sooner known than by `==` where they are short: that calls the C library, which
/// costs more than the comparison.
///
/// ```
/// use tayet_http1::is_same_text;
///
/// assert!(is_same_text(b"/health", b"/health"));
/// assert!(!is_same_text(b"/health", b"/Health"));
/// ```
#[inline(always)]
pub fn is_same_text(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (Some(one_end), Some(other_end)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) else {
        return one.iter().zip(other).all(|(one, other)| one == other);
    };
    let (ones, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    one_end == other_end && ones.iter().zip(others).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_seen_wherever_it_is() {
        for length in 0..40 {
            let text: Vec<u8> = (0..length).collect();
            assert!(is_same_text(&text, &text.clone()), "{length}");
            for at in 0..text.len() {
                let mut other = text.clone();
                other[at] ^= 0x80;
                assert!(!is_same_text(&text, &other), "at {at} of {length}");
                assert!(!is_same_text(&text, &text[..at]) && !is_same_text(&text[at + 1..], &text));
            }
        }
    }
}
