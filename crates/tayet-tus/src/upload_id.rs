//! What an upload is called.

use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What an upload is called in its URL: 128 random bits, as 32 hexadecimal digits.
///
/// Who knows the name may resume the upload, so it must not be guessed. No name can leave the directory of a store.
///
/// ```
/// use tayet_tus::UploadId;
///
/// let id: UploadId = "00112233445566778899aabbccddeeff".parse().unwrap();
/// assert_eq!(id.to_string(), "00112233445566778899aabbccddeeff");
/// assert!("../../etc/passwd".parse::<UploadId>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UploadId([u8; 16]);

impl UploadId {
    /// A new one, from the system's source of randomness.
    ///
    /// # Errors
    ///
    /// When that source fails.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for UploadId {
    type Err = InvalidUploadId;

    fn from_str(text: &str) -> Result<Self, InvalidUploadId> {
        let digits = text.as_bytes();
        // One spelling for each name: two of them would be two locks for one upload.
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 32 || !digits.iter().all(is_digit) {
            return Err(InvalidUploadId);
        }
        let value = u128::from_str_radix(text, 16).map_err(|_| InvalidUploadId)?;
        Ok(Self(value.to_be_bytes()))
    }
}

impl Serialize for UploadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UploadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A text that is no [`UploadId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidUploadId;

impl fmt::Display for InvalidUploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an upload's name is 32 hexadecimal digits")
    }
}

impl std::error::Error for InvalidUploadId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        let id = UploadId::random().unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), 32);
        for text in
            ["", "0", &"A".repeat(32), &"0".repeat(33), "+0112233445566778899aabbccddeeff", &"é".repeat(16)]
        {
            assert_eq!(text.parse::<UploadId>(), Err(InvalidUploadId), "{text}");
        }
    }

    #[test]
    fn names_differ() {
        assert_ne!(UploadId::random().unwrap(), UploadId::random().unwrap());
    }
}
