//! What a body is made of that is sent as it lies: bytes, and parts of files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use tayet_net::Socket;

/// A piece of a body ([`Body::from_parts`](crate::Body::from_parts)).
#[derive(Clone, Debug)]
pub enum BodyPart {
    /// These bytes.
    Bytes(Bytes),
    /// These bytes of a file, from 0: `start..end`.
    File {
        /// The file.
        file: Arc<File>,
        /// What of it.
        range: Range<u64>,
    },
}

impl BodyPart {
    /// How many bytes it is.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { range, .. } => range.end.saturating_sub(range.start),
        }
    }

    /// Sends what the socket takes now of it, `max_bytes` at most, and forgets that. Gives how many bytes that was: fewer than
    /// there are when the socket takes no more for now.
    ///
    /// # Errors
    ///
    /// Those of [`Socket::send_file`], and [`io::ErrorKind::UnexpectedEof`] when the file ends before the part does.
    pub(crate) fn send(&mut self, socket: &dyn Socket, max_bytes: u64) -> io::Result<u64> {
        let wanted = self.length().min(max_bytes) as usize;
        match self {
            Self::Bytes(bytes) => {
                let count = socket.send(&bytes[..wanted], &[])?;
                bytes.advance(count);
                Ok(count as u64)
            }
            Self::File { file, range } => {
                let count = socket.send_file(file, range.start, wanted)? as u64;
                if count == 0 {
                    let detail = "the file has become shorter while it was sent";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
                }
                range.start += count;
                Ok(count)
            }
        }
    }
}
