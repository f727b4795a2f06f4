//! The chunked transfer coding, sent (RFC 9112 section 7.1).

use http::HeaderMap;

use crate::trailers::is_forbidden;

/// The digits of the longest size, CRLF, CRLF.
const CHUNK_OVERHEAD_BYTES: usize = 16 + 2 + 2;

/// Adds `data` to `out` as one chunk. Without data it adds nothing, since an empty chunk would end the body.
///
/// ```
/// let mut out = Vec::new();
/// tayet_http1::encode_chunk(&mut out, b"Hello, World!");
/// tayet_http1::encode_last_chunk(&mut out, None);
/// assert_eq!(out, b"d\r\nHello, World!\r\n0\r\n\r\n");
/// ```
pub fn encode_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.reserve(data.len() + CHUNK_OVERHEAD_BYTES);
    encode_chunk_size(out, data.len() as u64);
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Adds what stands before a chunk's data, for data that does not lie in memory. CRLF stands behind it; `length` is not zero.
///
/// ```
/// let mut out = Vec::new();
/// tayet_http1::encode_chunk_size(&mut out, 26);
/// assert_eq!(out, b"1a\r\n");
/// ```
pub fn encode_chunk_size(out: &mut Vec<u8>, length: u64) {
    encode_hexadecimal(out, length);
    out.extend_from_slice(b"\r\n");
}

/// Adds the last chunk and the trailer section to `out`. Fields that may not come in a trailer (RFC 9110
/// section 6.5.1) are left out.
pub fn encode_last_chunk(out: &mut Vec<u8>, trailers: Option<&HeaderMap>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers.into_iter().flatten().filter(|(name, _)| !is_forbidden(name)) {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

fn encode_hexadecimal(out: &mut Vec<u8>, number: u64) {
    let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]);
    }
}
