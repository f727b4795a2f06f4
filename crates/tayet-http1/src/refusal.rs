//! Why a message is refused.

use std::fmt;

use http::StatusCode;

/// Why a message is refused. It is always the peer's fault, and always the end of the connection: after one
/// of these nobody can know where the next message would begin.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// LF without CR before it (RFC 9112 section 2.2 lets a server accept it; that is how requests are
    /// smuggled).
    BareLineFeed,
    /// CR without LF behind it (RFC 9112 section 2.2).
    BareCarriageReturn,
    /// NUL, another control byte or DEL in the head, in a trailer or in a chunk's line (RFC 9110 section
    /// 5.5).
    ControlByte,
    /// More than [`MAX_LEADING_EMPTY_LINES`](crate::MAX_LEADING_EMPTY_LINES) before a request line.
    TooManyEmptyLines,
    /// The first line isn't `method SP target SP version` (RFC 9112 section 3).
    MalformedRequestLine,
    /// The method isn't a token (RFC 9110 section 9.1).
    MalformedMethod,
    /// The target has other bytes than visible ASCII, or is in none of the four forms (RFC 9112 section 3.2).
    MalformedTarget,
    /// The target has a fragment (RFC 9112 section 3.2).
    FragmentInTarget,
    /// `*` with another method than OPTIONS (RFC 9112 section 3.2.4).
    AsteriskWithoutOptions,
    /// CONNECT with another target than `host:port` (RFC 9112 section 3.2.3).
    MalformedConnectTarget,
    /// The version isn't `HTTP/` digit `.` digit (RFC 9112 section 2.3).
    MalformedVersion,
    /// Another version of HTTP than 1.0 and 1.1.
    UnsupportedVersion,
    /// The request line is longer than [`max_request_line_bytes`](crate::HeadLimits::max_request_line_bytes).
    RequestLineTooLong,
    /// The head is longer than [`max_head_bytes`](crate::HeadLimits::max_head_bytes).
    HeadTooLarge,
    /// The head has more fields than [`max_headers`](crate::HeadLimits::max_headers).
    TooManyHeaders,
    /// A field line without a colon (RFC 9112 section 5).
    MissingColon,
    /// A field line that begins with its colon.
    EmptyFieldName,
    /// A field's name isn't a token, or is over 65,535 bytes (RFC 9110 section 5.1).
    MalformedFieldName,
    /// Whitespace between a field's name and the colon (RFC 9112 section 5.1).
    SpaceBeforeColon,
    /// A line that begins with whitespace (RFC 9112 sections 2.2 and 5.2).
    ObsoleteFolding,
    /// HTTP/1.1 without Host (RFC 9112 section 3.2).
    MissingHost,
    /// Host twice (RFC 9112 section 3.2).
    DuplicateHost,
    /// Host isn't `host[:port]` (RFC 9110 section 7.2).
    MalformedHost,
    /// Content-Length isn't a decimal number below 2^64 (RFC 9112 section 6.3).
    MalformedContentLength,
    /// Content-Length twice, whether equal or not (RFC 9112 section 6.3).
    DuplicateContentLength,
    /// Content-Length beside Transfer-Encoding (RFC 9112 section 6.1).
    ContentLengthWithTransferEncoding,
    /// Transfer-Encoding in HTTP/1.0 (RFC 9112 section 6.1).
    TransferEncodingInHttp10,
    /// Transfer-Encoding isn't a list of codings, or `chunked` has parameters (RFC 9112 sections 6.1 and
    /// 7.1).
    MalformedTransferEncoding,
    /// `chunked` twice (RFC 9112 section 6.1).
    ChunkedTwice,
    /// `chunked` before another coding (RFC 9112 section 6.3).
    ChunkedNotLast,
    /// Another transfer coding than `chunked` (RFC 9112 section 6.1).
    UnknownTransferCoding,
    /// Another expectation than `100-continue` (RFC 9110 section 10.1.1).
    UnknownExpectation,
    /// A chunk's size isn't a hexadecimal number (RFC 9112 section 7.1).
    MalformedChunkSize,
    /// A chunk's size has more than [`MAX_CHUNK_SIZE_DIGITS`](crate::MAX_CHUNK_SIZE_DIGITS).
    ChunkSizeTooLong,
    /// A chunk's extension isn't `;name[=value]` (RFC 9112 section 7.1.1).
    MalformedChunkExtension,
    /// Extensions over [`MAX_CHUNK_EXTENSION_BYTES`](crate::MAX_CHUNK_EXTENSION_BYTES).
    ChunkExtensionsTooLong,
    /// A chunk's data isn't followed by CRLF: it is longer than its size (RFC 9112 section 7.1).
    ChunkOverrun,
    /// The trailer section is longer than [`MAX_TRAILER_BYTES`](crate::MAX_TRAILER_BYTES).
    TrailersTooLarge,
    /// More trailer fields than [`MAX_TRAILERS`](crate::MAX_TRAILERS).
    TooManyTrailers,
    /// A field that may not come in a trailer, such as Content-Length (RFC 9110 section 6.5.1).
    ForbiddenTrailer,
}

impl Refusal {
    /// The status of the answer that the peer gets before the connection closes.
    pub fn status(self) -> StatusCode {
        match self {
            Self::RequestLineTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooLarge | Self::TooManyHeaders | Self::TrailersTooLarge | Self::TooManyTrailers => {
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            Self::UnknownExpectation => StatusCode::EXPECTATION_FAILED,
            Self::UnknownTransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::UnsupportedVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// A short sentence for the answer's body. It quotes nothing that the peer sent.
    pub fn reason(self) -> &'static str {
        match self {
            Self::BareLineFeed => "a line ends with LF alone",
            Self::BareCarriageReturn => "CR is not followed by LF",
            Self::ControlByte => "a line holds a control byte",
            Self::TooManyEmptyLines => "too many empty lines before the request line",
            Self::MalformedRequestLine => "the request line is not method, target and version",
            Self::MalformedMethod => "the method is not a token",
            Self::MalformedTarget => "the request target is malformed",
            Self::FragmentInTarget => "the request target has a fragment",
            Self::AsteriskWithoutOptions => "the target * is for OPTIONS only",
            Self::MalformedConnectTarget => "the target of CONNECT is not host:port",
            Self::MalformedVersion => "the protocol version is malformed",
            Self::UnsupportedVersion => "only HTTP/1.0 and HTTP/1.1 are supported here",
            Self::RequestLineTooLong => "the request line is too long",
            Self::HeadTooLarge => "the request's head is too large",
            Self::TooManyHeaders => "the request has too many header fields",
            Self::MissingColon => "a header line has no colon",
            Self::EmptyFieldName => "a header field has no name",
            Self::MalformedFieldName => "a header field's name is not a token",
            Self::SpaceBeforeColon => "whitespace before a header field's colon",
            Self::ObsoleteFolding => "a header line begins with whitespace",
            Self::MissingHost => "Host is missing",
            Self::DuplicateHost => "Host is given twice",
            Self::MalformedHost => "Host is malformed",
            Self::MalformedContentLength => "Content-Length is not a decimal number",
            Self::DuplicateContentLength => "Content-Length is given twice",
            Self::ContentLengthWithTransferEncoding => "Content-Length beside Transfer-Encoding",
            Self::TransferEncodingInHttp10 => "Transfer-Encoding in HTTP/1.0",
            Self::MalformedTransferEncoding => "Transfer-Encoding is malformed",
            Self::ChunkedTwice => "the chunked transfer coding is given twice",
            Self::ChunkedNotLast => "the chunked transfer coding is not the last",
            Self::UnknownTransferCoding => "the only transfer coding supported is chunked",
            Self::UnknownExpectation => "the only expectation supported is 100-continue",
            Self::MalformedChunkSize => "a chunk's size is not a hexadecimal number",
            Self::ChunkSizeTooLong => "a chunk's size has too many digits",
            Self::MalformedChunkExtension => "a chunk's extension is malformed",
            Self::ChunkExtensionsTooLong => "the chunks' extensions are too long",
            Self::ChunkOverrun => "a chunk's data is longer than its size",
            Self::TrailersTooLarge => "the trailer section is too large",
            Self::TooManyTrailers => "too many trailer fields",
            Self::ForbiddenTrailer => "a trailer field may not come in a trailer",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for Refusal {}
