//! How long a request's body is (RFC 9112 section 6.3).

use http::Version;

use crate::Refusal;
use crate::byte::{TOKEN, trim};
use crate::field::list_elements;

/// How a request's body is delimited.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// There's none: neither Content-Length nor Transfer-Encoding, or `Content-Length: 0`.
    None,
    /// So many bytes, never 0.
    Fixed(u64),
    /// In chunks, until the one of size 0.
    Chunked,
}

/// What the fields seen so far say about the body. They say it once: Content-Length and Transfer-Encoding
/// exclude each other.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) enum Framing {
    #[default]
    Unsaid,
    ContentLength(u64),
    TransferEncoding(TransferCoding),
}

/// The last transfer coding listed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TransferCoding {
    /// And nothing else before it.
    Chunked,
    Unknown,
    ChunkedOverUnknown,
}

impl Framing {
    #[inline(never)]
    pub(crate) fn add_content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        match self {
            Self::TransferEncoding(_) => return Err(Refusal::ContentLengthWithTransferEncoding),
            Self::ContentLength(_) => return Err(Refusal::DuplicateContentLength),
            Self::Unsaid => {}
        }
        *self = Self::ContentLength(decimal(value).ok_or(Refusal::MalformedContentLength)?);
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn add_transfer_encoding(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        if version == Version::HTTP_10 {
            return Err(Refusal::TransferEncodingInHttp10);
        }
        let mut last = match *self {
            Self::Unsaid => None,
            Self::ContentLength(_) => return Err(Refusal::ContentLengthWithTransferEncoding),
            Self::TransferEncoding(coding) => Some(coding),
        };
        for element in list_elements(value) {
            let is_chunked = is_chunked(element)?;
            let coding = match (last, is_chunked) {
                (None, true) => TransferCoding::Chunked,
                (Some(TransferCoding::Unknown), true) => TransferCoding::ChunkedOverUnknown,
                (None | Some(TransferCoding::Unknown), false) => TransferCoding::Unknown,
                (Some(_), true) => return Err(Refusal::ChunkedTwice),
                (Some(_), false) => return Err(Refusal::ChunkedNotLast),
            };
            last = Some(coding);
            *self = Self::TransferEncoding(coding);
        }
        Ok(())
    }

    /// Once all fields have been seen.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Unsaid | Self::ContentLength(_) | Self::TransferEncoding(TransferCoding::Chunked) => Ok(()),
            Self::TransferEncoding(TransferCoding::Unknown | TransferCoding::ChunkedOverUnknown) => {
                Err(Refusal::UnknownTransferCoding)
            }
        }
    }

    #[inline]
    pub(crate) fn body_length(&self) -> BodyLength {
        match *self {
            Self::Unsaid | Self::ContentLength(0) => BodyLength::None,
            Self::ContentLength(length) => BodyLength::Fixed(length),
            Self::TransferEncoding(_) => BodyLength::Chunked,
        }
    }
}

/// `transfer-coding = token *( OWS ";" OWS transfer-parameter )`. `chunked` has no parameters (RFC 9112
/// section 7.1).
fn is_chunked(coding: &[u8]) -> Result<bool, Refusal> {
    let (name, parameters) = coding.split_at(TOKEN.run_length(coding));
    let is_chunked = name.eq_ignore_ascii_case(b"chunked");
    match trim(parameters) {
        _ if name.is_empty() => Err(Refusal::MalformedTransferEncoding),
        [] => Ok(is_chunked),
        [b';', ..] if !is_chunked => Ok(false),
        _ => Err(Refusal::MalformedTransferEncoding),
    }
}

/// `1*DIGIT` below 2^64.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
