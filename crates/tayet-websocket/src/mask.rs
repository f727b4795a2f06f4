//! Masking (RFC 6455 section 5.3).

/// A masking key, turned so that it begins with the byte for the next byte of payload.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mask(pub(crate) [u8; 4]);

impl Mask {
    /// Masks or unmasks the next bytes of payload: the one is the other.
    #[inline]
    pub(crate) fn apply(&mut self, bytes: &mut [u8]) {
        let [a, b, c, d] = self.0;
        let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let (words, rest) = bytes.as_chunks_mut();
        for word in words {
            *word = (wide ^ u64::from_ne_bytes(*word)).to_ne_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(self.0.iter().cycle()) {
            *byte ^= key;
        }
        self.0.rotate_left(rest.len() % 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_masked_by_its_own_byte_of_the_key_however_the_payload_is_cut() {
        let payload: Vec<u8> = (0..100).collect();
        let key = [0x12, 0x34, 0x56, 0x78];
        let expected: Vec<u8> = payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect();
        for first in 0..=payload.len() {
            for second in [first, (first + 7).min(payload.len()), payload.len()] {
                let (mut mask, mut masked) = (Mask(key), payload.clone());
                mask.apply(&mut masked[..first]);
                mask.apply(&mut masked[first..second]);
                mask.apply(&mut masked[second..]);
                assert_eq!(masked, expected, "cut at {first} and {second}");
            }
        }
    }
}
