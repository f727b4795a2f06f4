//! One message, compressed as permessage-deflate has it (RFC 7692, section 7.2), and the check of its echo.

use std::io::Write as _;

use anyhow::{anyhow, ensure};
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Long enough that no server finds it too short to compress, and short enough for a window of 11 bits.
const TEXT_BYTES: usize = 2000;
const LEVEL: u8 = 6;
/// What a message leaves out of the empty block at its end, and a last block, which it seldom has.
const TAIL: &[u8] = &[0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff];

/// A text with its compressed form, which refers to nothing before itself.
pub struct Specimen {
    text: Vec<u8>,
    pub compressed: Vec<u8>,
}

impl Specimen {
    pub fn new() -> Self {
        let mut text = Vec::new();
        for number in 0.. {
            if text.len() >= TEXT_BYTES {
                break;
            }
            write!(text, "{{\"id\":{number},\"price\":{}}},", number * 7919 % 1000)
                .expect("a vector takes all");
        }
        text.truncate(TEXT_BYTES);
        // The last block ends the stream; a zero byte as the beginning of an empty block may follow it (section 7.2.3.5).
        let mut compressed = compress_to_vec(&text, LEVEL);
        compressed.push(0);
        Self { text, compressed }
    }

    /// Fails unless `payload` is this text, compressed as the first message of its socket.
    pub fn check(&self, payload: &[u8], is_compressed: bool) -> anyhow::Result<()> {
        ensure!(is_compressed, "a message of {TEXT_BYTES} bytes came uncompressed");
        let inflated = decompress_to_vec_with_limit(&[payload, TAIL].concat(), 2 * TEXT_BYTES);
        let text = inflated.map_err(|error| anyhow!("a compressed message is broken: {error}"))?;
        ensure!(text == self.text, "an echo is not what was sent");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_form_passes_and_any_other_does_not() {
        let specimen = Specimen::new();
        specimen.check(&specimen.compressed, true).unwrap();
        assert!(specimen.compressed.len() < TEXT_BYTES / 2);
        assert!(specimen.check(&specimen.text, false).is_err());
        assert!(specimen.check(&compress_to_vec(b"another", LEVEL), true).is_err());
        assert!(specimen.check(&specimen.compressed[..100], true).is_err());
    }

    #[test]
    fn a_message_without_a_last_block_passes() {
        let specimen = Specimen::new();
        // One stored block that is not the last, then the beginning of an empty one.
        let length = u16::try_from(TEXT_BYTES).unwrap();
        let stored =
            [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), &specimen.text, &[0]].concat();
        specimen.check(&stored, true).unwrap();
    }
}
