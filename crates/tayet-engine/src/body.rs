//! The body of a response.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::BodyWriter;

/// The body of a response: bytes, a part of a file, or something that a worker writes while it is sent.
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use tayet_engine::Body;
///
/// let short = Body::from("short");
/// assert_eq!(short.length(), Some(5));
/// let long = Body::from_writer(|out| (0..1000).try_for_each(|n| writeln!(out, "{n}")));
/// assert_eq!(long.length(), None);
/// ```
#[derive(Default)]
pub struct Body(pub(crate) Kind);

#[derive(Default)]
pub(crate) enum Kind {
    #[default]
    Empty,
    Bytes(Bytes),
    File {
        file: Arc<File>,
        range: Range<u64>,
    },
    Written {
        length: Option<u64>,
        write: Write,
    },
}

pub(crate) type Write = Box<dyn FnOnce(&mut BodyWriter) -> io::Result<()> + Send>;

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A body of unknown length that `write` writes, on a worker: chunked for HTTP/1.1, to the connection's end for
    /// HTTP/1.0. A slow client blocks the writer and nothing else. An error, or a panic, cuts the connection, so that the
    /// client can tell.
    pub fn from_writer(write: impl FnOnce(&mut BodyWriter) -> io::Result<()> + Send + 'static) -> Self {
        Self(Kind::Written { length: None, write: Box::new(write) })
    }

    /// The same with a length, in bytes, that is sent as `Content-Length`. Writing more or less is an error.
    pub fn from_writer_sized(
        length: u64,
        write: impl FnOnce(&mut BodyWriter) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self(Kind::Written { length: Some(length), write: Box::new(write) })
    }

    /// A body of unknown length, read to its end on a worker while it is sent.
    pub fn from_reader(mut reader: impl Read + Send + 'static) -> Self {
        Self::from_writer(move |out| io::copy(&mut reader, out).map(drop))
    }

    /// These bytes of a file (`start..end`, from 0), sent by a worker straight from the page cache: nothing of them is copied
    /// through memory, and no loop waits for the disk. A file that has become shorter when it is sent cuts the connection.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use std::fs::File;
    /// use tayet_engine::Body;
    ///
    /// let file = File::open("Cargo.toml")?;
    /// let length = file.metadata()?.len();
    /// assert_eq!(Body::from_file(file, 0..length).length(), Some(length));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_file(file: impl Into<Arc<File>>, range: Range<u64>) -> Self {
        Self(if range.is_empty() { Kind::Empty } else { Kind::File { file: file.into(), range } })
    }

    /// How many bytes it has, if that is known.
    pub fn length(&self) -> Option<u64> {
        match &self.0 {
            Kind::Empty => Some(0),
            Kind::Bytes(bytes) => Some(bytes.len() as u64),
            Kind::File { range, .. } => Some(range.end - range.start),
            Kind::Written { length, .. } => *length,
        }
    }

    /// The bytes, if they are all in memory (those of a file, or of a writer, are not).
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Empty => Some(&[]),
            Kind::Bytes(bytes) => Some(bytes),
            Kind::File { .. } | Kind::Written { .. } => None,
        }
    }

    /// The file and the part of it that is sent, if it is that.
    pub fn as_file(&self) -> Option<(&Arc<File>, Range<u64>)> {
        match &self.0 {
            Kind::File { file, range } => Some((file, range.clone())),
            _ => None,
        }
    }

    /// Takes it out, leaving no body.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Empty"),
            Kind::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Kind::File { range, .. } => write!(f, "File({range:?})"),
            Kind::Written { length, .. } => write!(f, "Written({length:?})"),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(if bytes.is_empty() { Kind::Empty } else { Kind::Bytes(bytes) })
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::from_static(bytes).into()
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Self::empty()
    }
}
