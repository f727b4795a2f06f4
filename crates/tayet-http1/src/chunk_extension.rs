//! Chunk extensions, checked byte by byte and otherwise ignored (RFC 9112 section 7.1.1).

use crate::Refusal;
use crate::byte::{TOKEN, is_control, is_whitespace};

/// How far an extension has been read: `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChunkExtension {
    /// Whitespace behind a size, name or value of which only `;` can follow.
    BeforeSemicolon,
    BeforeName,
    Name,
    BeforeEquals,
    BeforeValue,
    Token,
    Quoted,
    Escaped,
    /// Behind the closing quote.
    QuoteEnd,
}

impl ChunkExtension {
    /// The state behind the byte that follows a chunk's size.
    pub(crate) fn begin(byte: u8) -> Result<Self, Refusal> {
        match byte {
            b';' => Ok(Self::BeforeName),
            _ if is_whitespace(byte) => Ok(Self::BeforeSemicolon),
            _ => Err(Refusal::MalformedChunkSize),
        }
    }

    /// Whether a line may end here.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::Name | Self::Token | Self::QuoteEnd)
    }

    pub(crate) fn next(self, byte: u8) -> Result<Self, Refusal> {
        if is_control(byte) {
            return Err(Refusal::ControlByte);
        }
        let space = is_whitespace(byte);
        match (self, byte) {
            (Self::Quoted, b'"') => Ok(Self::QuoteEnd),
            (Self::Quoted, b'\\') => Ok(Self::Escaped),
            (Self::Quoted | Self::Escaped, _) => Ok(Self::Quoted),
            (Self::BeforeSemicolon | Self::BeforeName | Self::BeforeEquals | Self::BeforeValue, _)
                if space =>
            {
                Ok(self)
            }
            (Self::Name, _) if space => Ok(Self::BeforeEquals),
            (Self::Token | Self::QuoteEnd, _) if space => Ok(Self::BeforeSemicolon),
            (Self::BeforeName | Self::Name, _) if TOKEN.has(byte) => Ok(Self::Name),
            (Self::BeforeValue | Self::Token, _) if TOKEN.has(byte) => Ok(Self::Token),
            (Self::BeforeValue, b'"') => Ok(Self::Quoted),
            (Self::Name | Self::BeforeEquals, b'=') => Ok(Self::BeforeValue),
            (
                Self::BeforeSemicolon | Self::Name | Self::BeforeEquals | Self::Token | Self::QuoteEnd,
                b';',
            ) => Ok(Self::BeforeName),
            _ => Err(Refusal::MalformedChunkExtension),
        }
    }
}
