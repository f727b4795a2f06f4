//! Input made of fragments of what is parsed.

use arbitrary::{Result, Unstructured};

/// Bytes made of fragments, and of anything else.
pub(crate) fn assemble(input: &mut Unstructured<'_>, fragments: &[&[u8]]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(&choice) = input.peek_bytes(1).and_then(<[u8]>::first) {
        input.bytes(1)?;
        match fragments.get(usize::from(choice)) {
            Some(fragment) => bytes.extend_from_slice(fragment),
            // Most text stands for itself, so that what the fuzzer learns from comparisons is of use.
            None if choice < 0xc0 => bytes.push(choice),
            None => bytes.extend(input.bytes(usize::from(choice & 0x0f).min(input.len()))?),
        }
    }
    Ok(bytes)
}
