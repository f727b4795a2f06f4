//! Writing a response's body.

use std::fmt;
use std::io::{self, Write};

use http::HeaderMap;

/// Where a response's body is written to: blocks while the client takes no more.
///
/// What is written is gathered into chunks of 16 KiB; [`Write::flush`] sends what there is. Errors mean that the client
/// has gone, or took nothing for [`Limits::write_stall_timeout_ms`](crate::Limits::write_stall_timeout_ms).
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use tayet_engine::Body;
///
/// let body = Body::from_writer(|out| {
///     for line in ["one", "two"] {
///         writeln!(out, "{line}")?;
///         out.flush()?;
///     }
///     out.trailers_mut().insert("x-lines", 2.into());
///     Ok(())
/// });
/// assert_eq!(body.into_bytes(1_000).unwrap(), "one\ntwo\n");
/// ```
pub struct BodyWriter<'a> {
    out: &'a mut dyn Write,
    /// What is left of a body whose length is known.
    remaining_bytes: Option<u64>,
    trailers: Option<Box<HeaderMap>>,
}

impl<'a> BodyWriter<'a> {
    /// A writer of `length` bytes, or as many as come.
    pub(crate) fn new(out: &'a mut dyn Write, length: Option<u64>) -> Self {
        Self { out, remaining_bytes: length, trailers: None }
    }

    /// Fields that are sent behind the body (RFC 9110 section 6.5), such as a checksum of it.
    ///
    /// They are sent where the body is chunked: of unknown length, and for HTTP/1.1. Elsewhere they are left out, and so
    /// are fields that may not stand in a trailer. Name them in the response's `Trailer` field; proxies may drop them.
    pub fn trailers_mut(&mut self) -> &mut HeaderMap {
        self.trailers.get_or_insert_default()
    }

    /// Ends the body, which must have its length by now. Gives its trailer fields.
    pub(crate) fn finish(self) -> io::Result<Option<Box<HeaderMap>>> {
        match self.remaining_bytes {
            None | Some(0) => Ok(self.trailers),
            Some(missing) => {
                Err(io::Error::other(format!("the body is {missing} bytes shorter than its length")))
            }
        }
    }
}

impl Write for BodyWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.remaining_bytes.is_some_and(|remaining| bytes.len() as u64 > remaining) {
            return Err(io::Error::other("the body is longer than its length"));
        }
        let count = self.out.write(bytes)?;
        if let Some(remaining) = &mut self.remaining_bytes {
            *remaining -= count as u64;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl fmt::Debug for BodyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyWriter").field("remaining_bytes", &self.remaining_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_known_length_must_have_it() {
        let mut out = Vec::new();
        let mut short = BodyWriter::new(&mut out, Some(4));
        short.write_all(b"abc").unwrap();
        assert!(short.write_all(b"de").is_err());
        assert!(short.finish().is_err());
        out.clear();
        let mut exact = BodyWriter::new(&mut out, Some(4));
        exact.write_all(b"abcd").unwrap();
        assert!(exact.write_all(b"e").is_err());
        exact.finish().unwrap();
        assert_eq!(out, b"abcd");
    }
}
