//! Writing a response's body.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use http::HeaderMap;

use crate::body_wire::BodyWire;
use crate::shared::Shared;
use crate::sync::{Mutex, lock};

/// How much of a file is in memory at a time where it is not sent to a socket.
const COPIED_PIECE_BYTES: u64 = 64 * 1024;

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
    out: Out<'a>,
    /// What is left of a body whose length is known.
    remaining_bytes: Option<u64>,
    trailers: Option<Box<HeaderMap>>,
}

enum Out<'a> {
    Wire { wire: &'a Arc<Mutex<BodyWire>>, shared: &'a Shared },
    Other(&'a mut dyn Write),
}

impl<'a> BodyWriter<'a> {
    /// A writer of `length` bytes, or as many as come.
    pub(crate) fn new(out: &'a mut dyn Write, length: Option<u64>) -> Self {
        Self { out: Out::Other(out), remaining_bytes: length, trailers: None }
    }

    /// The same to a client.
    pub(crate) fn to_wire(wire: &'a Arc<Mutex<BodyWire>>, shared: &'a Shared, length: Option<u64>) -> Self {
        Self { out: Out::Wire { wire, shared }, remaining_bytes: length, trailers: None }
    }

    /// Writes these bytes of a file: to a client straight from the page cache, without copying them through memory.
    ///
    /// # Errors
    ///
    /// As for all that is written; and [`io::ErrorKind::UnexpectedEof`] when the file ends before the range does.
    pub fn send_file(&mut self, file: &File, range: Range<u64>) -> io::Result<()> {
        let length = range.end.saturating_sub(range.start);
        self.check_room_for(length)?;
        match &mut self.out {
            Out::Wire { wire, .. } => lock(wire).send_file(file, range)?,
            Out::Other(out) => copy_file(file, range, *out)?,
        }
        self.count(length);
        Ok(())
    }

    /// Sends of what is gathered what the client takes now, without waiting for more; `true` when that is all of it. What is
    /// left goes with the next [`Write::flush`], which waits. A body that passes an encoder on its way is flushed as by that.
    ///
    /// # Errors
    ///
    /// When the client has gone.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write;
    /// use tayet_engine::Body;
    ///
    /// let body = Body::from_writer(|out| {
    ///     out.write_all(b"made under a lock")?;
    ///     if !out.flush_now()? {
    ///         // The lock is to be left here.
    ///         out.flush()?;
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(body.into_bytes(1_000).unwrap(), "made under a lock");
    /// ```
    pub fn flush_now(&mut self) -> io::Result<bool> {
        match &mut self.out {
            Out::Wire { wire, .. } => lock(wire).flush_now(),
            Out::Other(out) => out.flush().map(|()| true),
        }
    }

    /// Takes all of `bytes`, to be sent soon: with what is written next, once that makes 32 KiB, or by another thread, within 10 ms
    /// however long this one is busy with what comes next. Waits for nothing: `false` when the client does not take what there
    /// is, which [`Write::flush`] waits for. For small pieces that come fast, which would else cost a system call each.
    ///
    /// # Errors
    ///
    /// When the client has gone, and when the body gets longer than its length.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write;
    /// use tayet_engine::Body;
    ///
    /// let body = Body::from_writer(|out| {
    ///     for piece in [b"made ", b"in a ", b"loop "] {
    ///         if !out.write_soon(piece)? {
    ///             out.flush()?;
    ///         }
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(body.into_bytes(1_000).unwrap(), "made in a loop ");
    /// ```
    pub fn write_soon(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.check_room_for(bytes.len() as u64)?;
        self.count(bytes.len() as u64);
        match &mut self.out {
            Out::Wire { wire, shared } => {
                let mut guard = lock(wire);
                let is_taken = guard.write_soon(bytes)?;
                if guard.begin_watch() {
                    drop(guard);
                    shared.flusher.watch(wire);
                    shared.monitor.rouse();
                }
                Ok(is_taken)
            }
            Out::Other(out) => out.write_all(bytes).map(|()| true),
        }
    }

    /// Fields that are sent behind the body (RFC 9110 section 6.5), such as a checksum of it.
    ///
    /// They are sent where the body is chunked: of unknown length, and for HTTP/1.1. Elsewhere they are left out, and so
    /// are fields that may not stand in a trailer. Name them in the response's `Trailer` field; proxies may drop them.
    pub fn trailers_mut(&mut self) -> &mut HeaderMap {
        self.trailers.get_or_insert_default()
    }

    fn check_room_for(&self, length: u64) -> io::Result<()> {
        match self.remaining_bytes {
            Some(remaining) if length > remaining => {
                Err(io::Error::other("the body is longer than its length"))
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, length: u64) {
        if let Some(remaining) = &mut self.remaining_bytes {
            *remaining -= length;
        }
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
        self.check_room_for(bytes.len() as u64)?;
        let count = match &mut self.out {
            Out::Wire { wire, .. } => lock(wire).write(bytes)?,
            Out::Other(out) => out.write(bytes)?,
        };
        self.count(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Wire { wire, .. } => lock(wire).flush(),
            Out::Other(out) => out.flush(),
        }
    }
}

fn copy_file(file: &File, mut range: Range<u64>, out: &mut dyn Write) -> io::Result<()> {
    let mut piece = vec![0; COPIED_PIECE_BYTES.min(range.end.saturating_sub(range.start)) as usize];
    while !range.is_empty() {
        let wanted = (range.end - range.start).min(COPIED_PIECE_BYTES) as usize;
        file.read_exact_at(&mut piece[..wanted], range.start)?;
        out.write_all(&piece[..wanted])?;
        range.start += wanted as u64;
    }
    Ok(())
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
