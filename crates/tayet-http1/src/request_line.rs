//! The request line (RFC 9112 section 3): `method SP request-target SP HTTP-version`.

use http::{Method, Version};

use crate::Refusal;
use crate::byte::is_token;
use crate::target::Target;

/// What a request line says.
pub(crate) struct RequestLine {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) version: Version,
}

const VERSION_BYTES: usize = "HTTP/1.1".len();

impl RequestLine {
    /// Reads `bytes[..end]`, which has no control bytes and no line end.
    ///
    /// The version goes first: of another version we can't say what else would be wrong.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], end: usize) -> Result<Self, Refusal> {
        let line = &bytes[..end];
        let method_end = line.iter().position(|&byte| byte == b' ').ok_or(Refusal::MalformedRequestLine)?;
        let target_end = match end.checked_sub(VERSION_BYTES + 1) {
            Some(at) if line[at] == b' ' && at > method_end + 1 => at,
            _ => return Err(malformed_end(line, method_end)),
        };
        let version = parse_version(&line[target_end + 1..])?;
        let method = parse_method(&line[..method_end])?;
        let target = Target::parse(bytes, method_end + 1..target_end, &method)?;
        Ok(Self { method, target, version })
    }
}

#[inline]
fn parse_version(version: &[u8]) -> Result<Version, Refusal> {
    match version {
        b"HTTP/1.1" => Ok(Version::HTTP_11),
        b"HTTP/1.0" => Ok(Version::HTTP_10),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Refusal::UnsupportedVersion),
        _ => Err(Refusal::MalformedVersion),
    }
}

#[inline]
fn parse_method(method: &[u8]) -> Result<Method, Refusal> {
    match method {
        b"GET" => Ok(Method::GET),
        b"POST" => Ok(Method::POST),
        _ if method.iter().all(|&byte| is_token(byte)) => {
            Method::from_bytes(method).map_err(|_| Refusal::MalformedMethod)
        }
        _ => Err(Refusal::MalformedMethod),
    }
}

/// What to call a line that doesn't end with a space and eight more bytes.
#[cold]
fn malformed_end(line: &[u8], method_end: usize) -> Refusal {
    let version = line[method_end + 1..].split(|&byte| byte == b' ').nth(1);
    match version {
        Some(version) if version.starts_with(b"HTTP/") => Refusal::MalformedVersion,
        _ => Refusal::MalformedRequestLine,
    }
}
