//! What a client says about its file.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::file_name::sanitised;

/// Most bytes of an `Upload-Metadata` field that are taken.
pub const MAX_METADATA_BYTES: usize = 8 * 1024;

/// What a client says about its file: the pairs of `Upload-Metadata` (tus 1.0.0, creation), in their order.
///
/// ```
/// use tayet_tus::Metadata;
///
/// let metadata: Metadata = "filename bG9vbS5qcGc=,is_private".parse().unwrap();
/// assert_eq!(metadata.text("filename"), Some("loom.jpg"));
/// assert_eq!(metadata.get("is_private"), Some(&[][..]));
/// assert_eq!(metadata.to_string(), "filename bG9vbS5qcGc=,is_private");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    pairs: Vec<(String, Vec<u8>)>,
}

impl Metadata {
    /// Metadata that says what the file is called.
    pub fn with_file_name(name: &str) -> Self {
        Self { pairs: vec![("filename".to_owned(), name.as_bytes().to_vec())] }
    }

    /// The same with one more pair; one of this name is replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.pairs.retain(|(known, _)| known != name);
        self.pairs.push((name.to_owned(), value.into()));
        self
    }

    /// The value of a name; empty for a name without one.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The value of a name, if it is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// What the file is called at the client: `filename`, or else `name`. Not fit to be a path.
    pub fn file_name(&self) -> Option<&str> {
        self.text("filename").or_else(|| self.text("name")).filter(|name| !name.is_empty())
    }

    /// What the file is called, made fit to be a file's name: no path, nothing hidden, nothing that a system could not store,
    /// 200 bytes at most. `None` when nothing is left.
    ///
    /// ```
    /// use tayet_tus::Metadata;
    ///
    /// assert_eq!(Metadata::with_file_name("../a:b.txt").safe_file_name().as_deref(), Some("a_b.txt"));
    /// assert_eq!(Metadata::with_file_name("..").safe_file_name(), None);
    /// ```
    pub fn safe_file_name(&self) -> Option<String> {
        self.file_name().and_then(sanitised)
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl FromStr for Metadata {
    type Err = InvalidMetadata;

    fn from_str(text: &str) -> Result<Self, InvalidMetadata> {
        if text.len() > MAX_METADATA_BYTES {
            return Err(InvalidMetadata("Upload-Metadata is too long"));
        }
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
        for pair in text.split(',') {
            let (name, value) = parse_pair(pair.trim())?;
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(InvalidMetadata("Upload-Metadata names something twice"));
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }
}

fn parse_pair(pair: &str) -> Result<(String, Vec<u8>), InvalidMetadata> {
    let (name, value) = pair.split_once(' ').unwrap_or((pair, ""));
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(InvalidMetadata("a name in Upload-Metadata is empty or not ASCII"));
    }
    let value = STANDARD
        .decode(value.trim())
        .map_err(|_| InvalidMetadata("a value in Upload-Metadata is not base64"))?;
    Ok((name.to_owned(), value))
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.pairs.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            f.write_str(name)?;
            if !value.is_empty() {
                write!(f, " {}", STANDARD.encode(value))?;
            }
        }
        Ok(())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// An `Upload-Metadata` that is not of the form that tus gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidMetadata(&'static str);

impl fmt::Display for InvalidMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidMetadata {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_comes_back() {
        for text in ["", "a", "a YQ==", "a YQ==,b,c Yw=="] {
            assert_eq!(text.parse::<Metadata>().unwrap().to_string(), text);
        }
        assert_eq!("a YQ== , b".parse::<Metadata>().unwrap().to_string(), "a YQ==,b");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let long = format!("a {}", "A".repeat(MAX_METADATA_BYTES));
        for text in ["a !", ",", "a YQ==,", "a,a", "é", long.as_str()] {
            assert!(text.parse::<Metadata>().is_err(), "{text}");
        }
    }

    #[test]
    fn either_name_names_the_file() {
        assert_eq!(Metadata::default().with("name", "a").file_name(), Some("a"));
        assert_eq!(Metadata::default().with("name", "a").with("filename", "b").file_name(), Some("b"));
        assert_eq!(Metadata::with_file_name("").file_name(), None);
        assert_eq!(Metadata::with_file_name("a").with("filename", [0xff]).file_name(), None);
    }
}
