//! The body of a response.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use crate::opening::Opening;
use crate::{BodyPart, BodyWriter};

/// How much [`Body::from_reader`] reads at a time.
const READ_BYTES: usize = 64 * 1024;

/// The body of a response: bytes, parts of files, or something that a worker writes while it is sent.
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
    /// Bytes that the program has anyway: there is nothing to be dropped. At least one.
    Static(&'static [u8]),
    /// Some of which are of files; none is empty.
    Parts(VecDeque<BodyPart>),
    Written {
        length: Option<u64>,
        write: Write,
    },
    /// No body: what follows the head is a session.
    Session(Box<Opening>),
}

pub(crate) type Write = Box<dyn FnOnce(&mut BodyWriter<'_>) -> io::Result<()> + Send>;

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A body of unknown length that `write` writes, on a worker: chunked for HTTP/1.1, to the connection's end for
    /// HTTP/1.0. A slow client blocks the writer and nothing else. An error, or a panic, cuts the connection, so that the
    /// client can tell.
    pub fn from_writer(write: impl FnOnce(&mut BodyWriter<'_>) -> io::Result<()> + Send + 'static) -> Self {
        Self(Kind::Written { length: None, write: Box::new(write) })
    }

    /// The same with a length, in bytes, that is sent as `Content-Length`. Writing more or less is an error.
    pub fn from_writer_sized(
        length: u64,
        write: impl FnOnce(&mut BodyWriter<'_>) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self(Kind::Written { length: Some(length), write: Box::new(write) })
    }

    /// A body of unknown length, read to its end on a worker while it is sent. What a reader gives in small pieces, as a
    /// pipe does, is sent piece by piece.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Self::from_writer(move |out| copy(reader, out))
    }

    /// These bytes of a file (`start..end`, from 0), sent by a worker straight from the page cache: nothing of them is copied
    /// through memory, and no loop waits for the disk. A client that takes them slowly occupies no thread meanwhile. A file that
    /// has become shorter when it is sent cuts the connection.
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
        Self::from_parts([BodyPart::File { file: file.into(), range }])
    }

    /// Bytes and parts of files, one behind another, sent as [`Body::from_file`] is: several ranges of a file, say, with
    /// something between them.
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// use std::{fs::File, sync::Arc};
    /// use tayet_engine::{Body, BodyPart};
    ///
    /// let file = Arc::new(File::open("Cargo.toml")?);
    /// let body = Body::from_parts([
    ///     BodyPart::File { file: Arc::clone(&file), range: 0..9 },
    ///     BodyPart::Bytes(" ... ".into()),
    ///     BodyPart::File { file, range: 20..25 },
    /// ]);
    /// assert_eq!(body.length(), Some(19));
    /// assert!(body.into_bytes(100)?.starts_with(b"[package] ... "));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_parts(parts: impl IntoIterator<Item = BodyPart>) -> Self {
        let parts = parts.into_iter().filter(|part| part.length() > 0).collect::<VecDeque<_>>();
        Self(if parts.is_empty() { Kind::Empty } else { Kind::Parts(parts) })
    }

    /// How many bytes it has, if that is known.
    pub fn length(&self) -> Option<u64> {
        match &self.0 {
            Kind::Empty => Some(0),
            Kind::Bytes(bytes) => Some(bytes.len() as u64),
            Kind::Static(bytes) => Some(bytes.len() as u64),
            Kind::Parts(parts) => Some(parts.iter().map(BodyPart::length).sum()),
            Kind::Written { length, .. } => *length,
            Kind::Session(_) => None,
        }
    }

    /// The bytes, if they are all in memory (those of a file, or of a writer, are not).
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Empty => Some(&[]),
            Kind::Bytes(bytes) => Some(bytes),
            Kind::Static(bytes) => Some(bytes),
            Kind::Parts(_) | Kind::Written { .. } | Kind::Session(_) => None,
        }
    }

    /// The file and the part of it that is sent, if it is that.
    pub fn as_file(&self) -> Option<(&Arc<File>, Range<u64>)> {
        let Kind::Parts(parts) = &self.0 else { return None };
        match parts.front() {
            Some(BodyPart::File { file, range }) if parts.len() == 1 => Some((file, range.clone())),
            _ => None,
        }
    }

    /// Writes it to `out`, as it would be sent, and gives its trailer fields if it has any. For middleware that changes
    /// what a body is made of: written to a [`BodyWriter`] in a body of its own, it is still sent while it is written.
    ///
    /// # Errors
    ///
    /// Those of `out` and of the body's own writer, and when that one does not keep to its length.
    ///
    /// # Examples
    ///
    /// ```
    /// use tayet_engine::Body;
    ///
    /// fn underlined(body: Body) -> Body {
    ///     Body::from_writer(|out| {
    ///         body.write_to(out)?;
    ///         std::io::Write::write_all(out, b"\n=====\n")
    ///     })
    /// }
    /// assert_eq!(underlined(Body::from("Tayet")).into_bytes(100).unwrap(), "Tayet\n=====\n");
    /// ```
    pub fn write_to(self, out: &mut dyn io::Write) -> io::Result<Option<Box<HeaderMap>>> {
        match self.0 {
            Kind::Empty => Ok(None),
            Kind::Bytes(bytes) => out.write_all(&bytes).map(|()| None),
            Kind::Static(bytes) => out.write_all(bytes).map(|()| None),
            Kind::Parts(parts) => parts.into_iter().try_for_each(|part| write_part(part, out)).map(|()| None),
            Kind::Session(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "a session has no body")),
            Kind::Written { length, write } => {
                let mut writer = BodyWriter::new(out, length);
                write(&mut writer)?;
                writer.finish()
            }
        }
    }

    /// The whole body in memory; what is written is written now.
    ///
    /// # Errors
    ///
    /// As [`Body::write_to`], and [`io::ErrorKind::FileTooLarge`] for more than `max_bytes`.
    pub fn into_bytes(self, max_bytes: usize) -> io::Result<Bytes> {
        if self.length().is_some_and(|length| length > max_bytes as u64) {
            return Err(too_large(max_bytes));
        }
        match self.0 {
            Kind::Bytes(bytes) => Ok(bytes),
            Kind::Static(bytes) => Ok(Bytes::from_static(bytes)),
            _ => {
                let mut memory = Memory { bytes: Vec::new(), max_bytes };
                self.write_to(&mut memory)?;
                Ok(memory.bytes.into())
            }
        }
    }

    /// Whether there is no body, but a WebSocket or a stream of events that follows the response's head. Middleware
    /// leaves such a response as it is.
    pub fn is_session(&self) -> bool {
        matches!(self.0, Kind::Session(_))
    }

    /// Takes it out, leaving no body.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

fn write_part(part: BodyPart, out: &mut dyn io::Write) -> io::Result<()> {
    match part {
        BodyPart::Bytes(bytes) => out.write_all(&bytes),
        BodyPart::File { file, range } => BodyWriter::new(out, None).send_file(&file, range),
    }
}

/// Copies, and sends what a read gives short of what it could: no more is there at the moment.
fn copy(mut reader: impl Read, out: &mut dyn io::Write) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        out.write_all(&buffer[..count])?;
        if count < buffer.len() {
            out.flush()?;
        }
    }
}

/// Where [`Body::into_bytes`] writes to.
struct Memory {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.max_bytes - self.bytes.len() {
            return Err(too_large(self.max_bytes));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn too_large(max_bytes: usize) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("the body is larger than {max_bytes} bytes"))
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Empty"),
            Kind::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Kind::Static(bytes) => write!(f, "Static({})", bytes.len()),
            Kind::Parts(parts) => write!(f, "Parts({parts:?})"),
            Kind::Written { length, .. } => write!(f, "Written({length:?})"),
            Kind::Session(opening) => write!(f, "Session({opening:?})"),
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
        text.as_bytes().into()
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Self(if bytes.is_empty() { Kind::Empty } else { Kind::Static(bytes) })
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Self::empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_body_of_any_kind_is_taken_into_memory_up_to_a_limit() {
        let bodies: [fn() -> Body; 6] = [
            || Body::from("12345"),
            || Body::from_writer(|out| out.write_all(b"12345")),
            || Body::from_writer_sized(5, |out| out.write_all(b"12345")),
            || Body::from_reader(&b"12345"[..]),
            || Body::from_file(file_of(b"0123456789"), 1..6),
            || Body::from_parts([BodyPart::Bytes("12".into()), part_of(b"3456", 0..3), part_of(b"", 0..0)]),
        ];
        for body in bodies {
            assert_eq!(body().into_bytes(5).unwrap(), "12345");
            assert_eq!(body().into_bytes(4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
        assert_eq!(Body::empty().into_bytes(0).unwrap(), "");
    }

    /// A file of these bytes, without a name.
    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn part_of(bytes: &[u8], range: Range<u64>) -> BodyPart {
        BodyPart::File { file: Arc::new(file_of(bytes)), range }
    }

    #[test]
    fn only_a_body_that_is_one_file_is_that_file() {
        assert_eq!(Body::from_file(file_of(b"0123"), 1..3).as_file().unwrap().1, 1..3);
        assert!(Body::from_parts([part_of(b"0", 0..1), part_of(b"1", 0..1)]).as_file().is_none());
        assert!(Body::from_parts([BodyPart::Bytes("0".into())]).as_file().is_none());
    }

    #[test]
    fn a_file_that_is_shorter_than_its_part_is_an_error() {
        let error = Body::from_file(file_of(b"0123"), 0..5).into_bytes(9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_body_without_its_length_is_an_error() {
        assert!(Body::from_writer_sized(5, |out| out.write_all(b"1234")).into_bytes(9).is_err());
    }

    #[test]
    fn trailers_come_with_the_body() {
        let body = Body::from_writer(|out| {
            out.trailers_mut().insert("x-sum", 15.into());
            Ok(())
        });
        assert_eq!(body.write_to(&mut Vec::new()).unwrap().unwrap()["x-sum"], "15");
    }

    /// Records what it is given, and when it is flushed.
    struct Recorder(Vec<String>);

    impl io::Write for Recorder {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(format!("{} bytes", bytes.len()));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.push("flush".to_owned());
            Ok(())
        }
    }

    #[test]
    fn what_a_reader_gives_piece_by_piece_is_sent_piece_by_piece() {
        let mut recorder = Recorder(Vec::new());
        let pieces = (&b"ab"[..]).chain(io::repeat(b'x').take(READ_BYTES as u64)).chain(&b"c"[..]);
        Body::from_reader(pieces).write_to(&mut recorder).unwrap();
        assert_eq!(recorder.0, ["2 bytes", "flush", "65536 bytes", "1 bytes", "flush"]);
    }
}
