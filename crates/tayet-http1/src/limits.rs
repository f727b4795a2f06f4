//! What a head may cost.

/// Empty lines that are skipped before a request line: RFC 9112 section 2.2 asks for at least one, for
/// clients that send one behind a body.
pub const MAX_LEADING_EMPTY_LINES: u8 = 4;

/// The digits of a chunk's size: as many as 64 bits need.
pub const MAX_CHUNK_SIZE_DIGITS: u8 = 16;

/// The bytes of chunk extensions that a message may have beyond the bytes of its data: each byte of data
/// earns one byte of extensions, up to this many in reserve.
pub const MAX_CHUNK_EXTENSION_BYTES: u16 = 16 * 1024;

/// The bytes of a trailer section, line ends included.
pub const MAX_TRAILER_BYTES: usize = 8 * 1024;

/// The fields of a trailer section.
pub const MAX_TRAILERS: usize = 32;

/// The highest [`HeadLimits::max_headers`] that has an effect: what a [`http::HeaderMap`] can hold.
pub const MAX_HEADERS_CEILING: usize = 16 * 1024;

/// The highest [`HeadLimits::max_head_bytes`] that has an effect: 1 GiB.
pub const MAX_HEAD_BYTES_CEILING: usize = 1 << 30;

/// What a request's head may cost, for [`Connection::receive_head`](crate::Connection::receive_head).
///
/// The same limits should go with every call for one head.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the head, from the method to the end of the empty line. Default 16 KiB, at most
    /// [`MAX_HEAD_BYTES_CEILING`]; past it [`HeadTooLarge`](crate::Refusal::HeadTooLarge).
    pub max_head_bytes: usize,
    /// Bytes of the request line without its line end. Default 8 KiB; past it
    /// [`RequestLineTooLong`](crate::Refusal::RequestLineTooLong).
    pub max_request_line_bytes: usize,
    /// Fields of the head. Default 100, at most [`MAX_HEADERS_CEILING`]; past it
    /// [`TooManyHeaders`](crate::Refusal::TooManyHeaders).
    pub max_headers: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { max_head_bytes: 16 * 1024, max_request_line_bytes: 8 * 1024, max_headers: 100 }
    }
}
