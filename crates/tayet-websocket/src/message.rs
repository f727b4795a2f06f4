//! What is sent and received.

use std::ops::Deref;
use std::{fmt, str};

use bytes::Bytes;
use bytestring::ByteString;

/// A message: a text or bytes (RFC 6455 section 5.6). A clone shares the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// UTF-8.
    Text(Text),
    /// Any bytes.
    Binary(Bytes),
}

impl Message {
    /// The message's length in bytes.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether the message has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// The message's bytes; of a text, its UTF-8.
    pub fn as_bytes(&self) -> &Bytes {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

impl From<Text> for Message {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Bytes> for Message {
    fn from(bytes: Bytes) -> Self {
        Self::Binary(bytes)
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes.into())
    }
}

impl From<&[u8]> for Message {
    fn from(bytes: &[u8]) -> Self {
        Self::Binary(Bytes::copy_from_slice(bytes))
    }
}

/// UTF-8 that is shared by its clones, like [`Bytes`].
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(ByteString);

impl Text {
    /// A text that lives as long as the program, without a copy.
    pub const fn from_static(text: &'static str) -> Self {
        Self(ByteString::from_static(text))
    }

    /// A text of these bytes, without a copy.
    ///
    /// # Errors
    ///
    /// They aren't UTF-8.
    pub fn from_utf8(bytes: Bytes) -> Result<Self, str::Utf8Error> {
        ByteString::try_from(bytes).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text's UTF-8.
    pub fn as_bytes(&self) -> &Bytes {
        self.0.as_bytes()
    }

    /// The text's UTF-8, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.0.into_bytes()
    }

    /// The first `length` bytes, which must end a character.
    pub(crate) fn truncated(self, length: usize) -> Self {
        if length == self.len() { self } else { Self(self.0.split_at(length).0) }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<Text> for Bytes {
    fn from(text: Text) -> Self {
        text.into_bytes()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.into()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
