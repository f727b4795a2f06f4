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
    /// Becomes the line that `bytes` begin with. Gives where the next line begins; `None`: it needs more.
    #[inline]
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refusal> {
        let is_get = bytes.starts_with(b"GET ");
        let method_end = if is_get { 3 } else { TOKEN.end_of_run(bytes, 0) };
        if bytes.get(method_end) != Some(&b' ') || method_end == 0 {
            return method_fault(bytes, method_end);
        }
        let target_start = method_end + 1;
        let path_end = PATH.end_of_run(bytes, target_start);
        let has_query = bytes.get(path_end) == Some(&b'?');
        let target_end = if has_query { QUERY.end_of_run(bytes, path_end) } else { path_end };
        if bytes.get(target_end) != Some(&b' ') || target_end == target_start {
            return target_fault(bytes, target_end);
        }
        let Some(next) = self.parse_version(bytes, target_end + 1)? else { return Ok(None) };
        // Only now, since of another version we can't say what its methods and targets would be.
        if !is_get {
            self.method = Method::from_bytes(&bytes[..method_end]).map_err(|_| Refusal::MalformedMethod)?;
        }
        self.target = Target::parse(bytes, target_start..target_end, path_end, &self.method)?;
        Ok(Some(next))
    }

    #[inline]
    fn parse_version(&mut self, bytes: &[u8], start: usize) -> Result<Option<usize>, Refusal> {
        self.version = match bytes.get(start..).and_then(<[u8]>::first_chunk) {
            Some(b"HTTP/1.1\r\n") => Version::HTTP_11,
            Some(b"HTTP/1.0\r\n") => Version::HTTP_10,
            _ => return version_fault(bytes, start),
        };
        Ok(Some(start + "HTTP/1.x\r\n".len()))
    }
}

#[cold]
fn method_fault<T>(bytes: &[u8], end: usize) -> Result<Option<T>, Refusal> {
    let refusal =
        if bytes.get(end) == Some(&b'\r') { Refusal::MalformedRequestLine } else { Refusal::MalformedMethod };
    line::unexpected(bytes, end, refusal)
}

#[cold]
fn target_fault<T>(bytes: &[u8], end: usize) -> Result<Option<T>, Refusal> {
    let refusal = match bytes.get(end) {
        Some(b'#') => Refusal::FragmentInTarget,
        Some(b'\r') => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedTarget,
    };
    line::unexpected(bytes, end, refusal)
}

#[cold]
fn version_fault<T>(bytes: &[u8], start: usize) -> Result<Option<T>, Refusal> {
    let end = line::find_control(bytes, start);
    let refusal = match &bytes[start..end] {
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Refusal::UnsupportedVersion,
        version if version.contains(&b' ') => Refusal::MalformedRequestLine,
        _ => Refusal::MalformedVersion,
    };
    line::unexpected(bytes, end, refusal)
}
