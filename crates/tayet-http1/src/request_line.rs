//! The request line (RFC 9112 section 3): `method SP request-target SP HTTP-version`.

use http::{Method, Version};

use crate::Refusal;
use crate::byte::{PATH, QUERY, TOKEN};
use crate::line::{self, Stop};
use crate::target::Target;

/// What a request line says.
#[derive(Clone, Default)]
pub(crate) struct RequestLine {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) version: Version,
}

impl RequestLine {
    /// Becomes the line that `bytes` begin with, and gives its length.
    #[inline(always)]
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let is_get = bytes.starts_with(b"GET ");
        let method_length = if is_get { "GET".len() } else { method_length(bytes)? };
        let start = method_length + 1;
        let path = PATH.find_other(bytes, start);
        let target = match path {
            Some((path_end, b'?')) => QUERY.find_other(bytes, path_end),
            _ => path,
        };
        let (Some((path_end, _)), Some((target_end, b' '))) = (path, target) else {
            return Err(target_fault(bytes, start));
        };
        if target_end == start {
            return Err(target_fault(bytes, start));
        }
        let end = self.parse_version(bytes, target_end + 1)?;
        // Only now, since of another version we can't say what its methods and targets would be.
        if !is_get {
            self.method =
                Method::from_bytes(&bytes[..method_length]).map_err(|_| Refusal::MalformedMethod)?;
        } else if self.method != Method::GET {
            self.method = Method::GET;
        }
        self.target.parse(bytes, start..target_end, path_end, &self.method)?;
        Ok(end)
    }

    /// Reads the version and the line end behind it, and gives where that ends.
    #[inline(always)]
    fn parse_version(&mut self, bytes: &[u8], start: usize) -> Result<usize, Stop> {
        let end = start + "HTTP/1.1\r\n".len();
        // Compared as a whole, which is faster than a match byte by byte.
        let is = |line: &[u8; 10]| bytes.get(start..end).is_some_and(|bytes| bytes == line);
        if is(b"HTTP/1.1\r\n") {
            self.version = Version::HTTP_11;
        } else if is(b"HTTP/1.0\r\n") {
            self.version = Version::HTTP_10;
        } else {
            return Err(version_fault(&bytes[start..]));
        }
        Ok(end)
    }
}

/// The length of the method, behind which there is a space.
#[inline(never)]
fn method_length(bytes: &[u8]) -> Result<usize, Stop> {
    match TOKEN.run_length(bytes) {
        0 => Err(method_fault(bytes)),
        length if bytes.get(length) == Some(&b' ') => Ok(length),
        length => Err(method_fault(&bytes[length..])),
    }
}

/// What is wrong where a method ends with something else than a space, or where there is none.
#[cold]
fn method_fault(rest: &[u8]) -> Stop {
    let refusal =
        if rest.starts_with(b"\r") { Refusal::MalformedRequestLine } else { Refusal::MalformedMethod };
    line::unexpected(rest, refusal)
}

/// What is wrong with a target that begins at `start` and is empty, or ends with something else than a space.
#[cold]
fn target_fault(bytes: &[u8], start: usize) -> Stop {
    let behind_path = &bytes[start + PATH.run_length(&bytes[start..])..];
    let rest = match behind_path {
        [b'?', query @ ..] => &query[QUERY.run_length(query)..],
        _ => behind_path,
    };
    let refusal = match rest {
        [b'#', ..] => Refusal::FragmentInTarget,
        [b'\r', ..] => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedTarget,
    };
    line::unexpected(rest, refusal)
}

#[cold]
fn version_fault(rest: &[u8]) -> Stop {
    let (version, line_end) = rest.split_at(line::find_control(rest, 0).unwrap_or(rest.len()));
    let refusal = match version {
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Refusal::UnsupportedVersion,
        _ if version.contains(&b' ') => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedVersion,
    };
    line::unexpected(line_end, refusal)
}
