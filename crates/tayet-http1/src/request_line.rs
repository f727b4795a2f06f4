//! The request line (RFC 9112 section 3): `method SP request-target SP HTTP-version`.

use http::{Method, Version};

use crate::byte::{PATH, QUERY, TOKEN};
use crate::target::Target;
use crate::{Refusal, line};

/// What a request line says.
#[derive(Clone, Default)]
pub(crate) struct RequestLine {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) version: Version,
}

impl RequestLine {
    /// Becomes the line that `bytes` begin with. Gives its length; `None`: it needs more.
    #[inline]
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refusal> {
        let is_get = bytes.starts_with(b"GET ");
        let method_length = if is_get { 3 } else { TOKEN.run_length(bytes) };
        let [b' ', behind_method @ ..] = &bytes[method_length..] else {
            return method_fault(&bytes[method_length..]);
        };
        if method_length == 0 {
            return method_fault(bytes);
        }
        let path_length = PATH.run_length(behind_method);
        let query_length = match &behind_method[path_length..] {
            query @ [b'?', ..] => QUERY.run_length(query),
            _ => 0,
        };
        let target_length = path_length + query_length;
        let [b' ', version @ ..] = &behind_method[target_length..] else {
            return target_fault(&behind_method[target_length..]);
        };
        if target_length == 0 {
            return target_fault(behind_method);
        }
        let Some(version_length) = self.parse_version(version)? else { return Ok(None) };
        // Only now, since of another version we can't say what its methods and targets would be.
        if !is_get {
            self.method =
                Method::from_bytes(&bytes[..method_length]).map_err(|_| Refusal::MalformedMethod)?;
        }
        let start = method_length + 1;
        self.target.parse(bytes, start..start + target_length, start + path_length, &self.method)?;
        Ok(Some(start + target_length + 1 + version_length))
    }

    /// Reads the version and the line end behind it, and gives the length of both.
    #[inline]
    fn parse_version(&mut self, rest: &[u8]) -> Result<Option<usize>, Refusal> {
        let Some(version) = rest.first_chunk() else { return version_fault(rest) };
        // Compared as a whole, which is faster than a match byte by byte.
        if version == b"HTTP/1.1\r\n" {
            self.version = Version::HTTP_11;
        } else if version == b"HTTP/1.0\r\n" {
            self.version = Version::HTTP_10;
        } else {
            return version_fault(rest);
        }
        Ok(Some(version.len()))
    }
}

/// What is wrong where a method ends with something else than a space.
#[cold]
fn method_fault<T>(rest: &[u8]) -> Result<Option<T>, Refusal> {
    let refusal =
        if rest.starts_with(b"\r") { Refusal::MalformedRequestLine } else { Refusal::MalformedMethod };
    line::unexpected(rest, refusal)
}

/// What is wrong where a target ends with something else than a space, or begins with one.
#[cold]
fn target_fault<T>(rest: &[u8]) -> Result<Option<T>, Refusal> {
    let refusal = match rest {
        [b'#', ..] => Refusal::FragmentInTarget,
        [b'\r', ..] => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedTarget,
    };
    line::unexpected(rest, refusal)
}

#[cold]
fn version_fault<T>(rest: &[u8]) -> Result<Option<T>, Refusal> {
    let (version, line_end) = rest.split_at(line::find_control(rest));
    let refusal = match version {
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Refusal::UnsupportedVersion,
        _ if version.contains(&b' ') => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedVersion,
    };
    line::unexpected(line_end, refusal)
}
