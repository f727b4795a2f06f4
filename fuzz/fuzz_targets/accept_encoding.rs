//! Whatever `Accept-Encoding` says, only what is named there or by `*` is chosen, and never what weighs nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tayet::{AcceptEncoding, ContentCoding};
use tayet_fuzz::AcceptEncodingText;

fuzz_target!(|text: AcceptEncodingText| {
    let value = text.0;
    let accepted = AcceptEncoding::parse(&value);
    let lower = value.to_ascii_lowercase();
    for coding in ContentCoding::ALL {
        // Offered alone, a coding is preferred or not; offered with others, nothing worse than it is.
        let is_liked = accepted.preferred(&[coding]) == Some(coding);
        assert!(!is_liked || lower.contains(coding.name()) || lower.contains('*'), "{value:?}");
        assert!(!is_liked || accepted.preferred(&ContentCoding::ALL).is_some());
        // What is put behind cannot change what was said before.
        let refused_before = AcceptEncoding::parse(&format!("{coding};q=0,{value}"));
        assert_eq!(refused_before.preferred(&[coding]), None);
        let best = AcceptEncoding::parse(&format!("{coding},{value}"));
        assert_eq!(best.preferred(&[coding]), Some(coding));
    }
    assert_eq!(accepted.preferred(&[]), None);
    assert!(accepted.allows_identity() || lower.contains("identity") || lower.contains('*'), "{value:?}");
    assert_eq!(AcceptEncoding::parse(&lower), accepted, "case makes no difference");
    assert!(!AcceptEncoding::parse(&format!("identity;q=0,{value}")).allows_identity());
});
