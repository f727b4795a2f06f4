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

/// What the fields seen so far say about the body.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Framing {
    content_length: Option<u64>,
    transfer_coding: Option<TransferCoding>,
}

/// The last transfer coding listed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum TransferCoding {
    /// And nothing else before it.
    Chunked,
    Unknown,
    ChunkedOverUnknown,
}

impl Framing {
    #[inline(never)]
    pub(crate) fn add_content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.transfer_coding.is_some() {
            return Err(Refusal::ContentLengthWithTransferEncoding);
        }
        if self.content_length.is_some() {
            return Err(Refusal::DuplicateContentLength);
        }
        self.content_length = Some(decimal(value).ok_or(Refusal::MalformedContentLength)?);
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn add_transfer_encoding(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        if version == Version::HTTP_10 {
            return Err(Refusal::TransferEncodingInHttp10);
        }
        if self.content_length.is_some() {
            return Err(Refusal::ContentLengthWithTransferEncoding);
        }
        for element in list_elements(value) {
            let is_chunked = is_chunked(element)?;
            self.transfer_coding = Some(match (self.transfer_coding, is_chunked) {
                (None, true) => TransferCoding::Chunked,
                (Some(TransferCoding::Unknown), true) => TransferCoding::ChunkedOverUnknown,
                (None | Some(TransferCoding::Unknown), false) => TransferCoding::Unknown,
                (Some(_), true) => return Err(Refusal::ChunkedTwice),
                (Some(_), false) => return Err(Refusal::ChunkedNotLast),
            });
        }
        Ok(())
    }

    /// Once all fields have been seen.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self.transfer_coding {
            None | Some(TransferCoding::Chunked) => Ok(()),
            Some(TransferCoding::Unknown | TransferCoding::ChunkedOverUnknown) => {
                Err(Refusal::UnknownTransferCoding)
            }
        }
    }

    #[inline]
    pub(crate) fn body_length(&self) -> BodyLength {
        match (self.transfer_coding, self.content_length) {
            (Some(_), _) => BodyLength::Chunked,
            (None, None | Some(0)) => BodyLength::None,
            (None, Some(length)) => BodyLength::Fixed(length),
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
