//! Writing a response's body while it is sent.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tayet_net::Socket;

use crate::answer::BodyFraming;

/// Bytes gathered before they are sent as one chunk.
const CHUNK_BYTES: usize = 16 * 1024;
/// How much of a file one call to the kernel sends at most.
const FILE_PIECE_BYTES: u64 = 4 * 1024 * 1024;

/// Where a written body goes: blocks while the client takes no more.
///
/// What is written is gathered into chunks of 16 KiB; [`Write::flush`] sends what there is. Errors mean that the client
/// has gone, or took nothing for [`Limits::write_stall_timeout_ms`](crate::Limits::write_stall_timeout_ms).
pub struct BodyWriter {
    socket: Arc<dyn Socket>,
    stall_timeout: Duration,
    framing: BodyFraming,
    /// What is left of a sized body.
    remaining: u64,
    sent_bytes: u64,
    /// The response's head at first, then what has been gathered.
    pending: Vec<u8>,
    gathered: Vec<u8>,
}

impl BodyWriter {
    /// `head` is sent with the first chunk.
    pub(crate) fn new(
        socket: Arc<dyn Socket>,
        stall_timeout: Duration,
        framing: BodyFraming,
        head: Vec<u8>,
    ) -> Self {
        let remaining = if let BodyFraming::Sized(length) = framing { length } else { u64::MAX };
        Self { socket, stall_timeout, framing, remaining, sent_bytes: 0, pending: head, gathered: Vec::new() }
    }

    /// Sends these bytes of a file, straight from the page cache where the connection can.
    ///
    /// # Errors
    ///
    /// As for all that is written, and when the file ends before the range does.
    pub fn send_file(&mut self, file: &File, range: Range<u64>) -> io::Result<()> {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return Ok(());
        }
        self.count_in(length)?;
        self.frame_gathered();
        if self.framing == BodyFraming::Chunked {
            tayet_http1::encode_chunk_size(&mut self.pending, length);
        }
        self.send_pending()?;
        self.send_pieces(file, range)?;
        if self.framing == BodyFraming::Chunked {
            self.pending.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Ends the body. Returns how many bytes were sent, head and framing included.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        if matches!(self.framing, BodyFraming::Sized(_)) && self.remaining > 0 {
            return Err(io::Error::other(format!(
                "the body is {} bytes shorter than its length",
                self.remaining
            )));
        }
        self.frame_gathered();
        if self.framing == BodyFraming::Chunked {
            tayet_http1::encode_last_chunk(&mut self.pending, None);
        }
        self.send_pending()?;
        Ok(self.sent_bytes)
    }

    fn frame_gathered(&mut self) {
        match self.framing {
            BodyFraming::Chunked if self.gathered.is_empty() => {}
            BodyFraming::Chunked => tayet_http1::encode_chunk(&mut self.pending, &self.gathered),
            BodyFraming::Sized(_) | BodyFraming::UntilClose => self.pending.extend_from_slice(&self.gathered),
        }
        self.gathered.clear();
    }

    fn send_pending(&mut self) -> io::Result<()> {
        let mut rest = &self.pending[..];
        while !rest.is_empty() {
            let count = self.when_writable(|socket| socket.send(rest, &[]))?;
            rest = &rest[count..];
            self.sent_bytes += count as u64;
        }
        self.pending.clear();
        Ok(())
    }

    fn send_pieces(&mut self, file: &File, mut range: Range<u64>) -> io::Result<()> {
        while !range.is_empty() {
            let piece_bytes = (range.end - range.start).min(FILE_PIECE_BYTES) as usize;
            let count = self.when_writable(|socket| socket.send_file(file, range.start, piece_bytes))? as u64;
            if count == 0 {
                let detail = "the file has become shorter while it was sent";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
            }
            range.start += count;
            self.sent_bytes += count;
        }
        Ok(())
    }

    /// Sends by `send`, as soon as the client takes something.
    fn when_writable(&self, send: impl Fn(&dyn Socket) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match send(&*self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.wait_writable(self.stall_timeout)?;
                }
                result => return result,
            }
        }
    }

    fn count_in(&mut self, length: u64) -> io::Result<()> {
        if length > self.remaining {
            return Err(io::Error::other("the body is longer than its length"));
        }
        if let BodyFraming::Sized(_) = self.framing {
            self.remaining -= length;
        }
        Ok(())
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count_in(bytes.len() as u64)?;
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.frame_gathered();
        self.send_pending()
    }
}

impl fmt::Debug for BodyWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyWriter").field("framing", &self.framing).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Takes a few bytes at a time and blocks in between.
    #[derive(Default)]
    struct Slow {
        taken: Mutex<Vec<u8>>,
        turn: Mutex<bool>,
        is_stalled: bool,
    }

    impl Socket for Slow {
        fn send(&self, bytes: &[u8], _: &[u8]) -> io::Result<usize> {
            let mut turn = self.turn.lock().unwrap();
            *turn = !*turn;
            if *turn || self.is_stalled {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(7);
            self.taken.lock().unwrap().extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn wait_writable(&self, _: Duration) -> io::Result<()> {
            if self.is_stalled { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
        }

        fn shutdown(&self) {}
    }

    fn writer(socket: &Arc<Slow>, framing: BodyFraming) -> BodyWriter {
        BodyWriter::new(Arc::clone(socket) as _, Duration::from_secs(1), framing, b"HEAD|".to_vec())
    }

    #[test]
    fn chunks_follow_the_head() {
        let socket = Arc::new(Slow::default());
        let mut writer = writer(&socket, BodyFraming::Chunked);
        writer.write_all(b"abc").unwrap();
        writer.flush().unwrap();
        writer.write_all(b"0123456789").unwrap();
        writer.finish().unwrap();
        assert_eq!(*socket.taken.lock().unwrap(), b"HEAD|3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
    }

    #[test]
    fn a_sized_body_must_be_as_long_as_it_says() {
        let socket = Arc::new(Slow::default());
        let mut short = writer(&socket, BodyFraming::Sized(4));
        short.write_all(b"abc").unwrap();
        assert!(short.write_all(b"de").is_err());
        assert!(short.finish().is_err());
        let mut exact = writer(&socket, BodyFraming::Sized(4));
        exact.write_all(b"abcd").unwrap();
        exact.finish().unwrap();
        assert_eq!(*socket.taken.lock().unwrap(), b"HEAD|abcd");
    }

    /// A file of these bytes, without a name.
    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_file_stands_where_it_is_written() {
        for (framing, expected) in [
            (BodyFraming::Sized(13), &b"HEAD|<23456789ab>!"[..]),
            (BodyFraming::UntilClose, b"HEAD|<23456789ab>!"),
            (BodyFraming::Chunked, b"HEAD|1\r\n<\r\na\r\n23456789ab\r\n2\r\n>!\r\n0\r\n\r\n"),
        ] {
            let socket = Arc::new(Slow::default());
            let mut writer = writer(&socket, framing);
            writer.write_all(b"<").unwrap();
            writer.send_file(&file(b"0123456789abcdef"), 2..12).unwrap();
            writer.send_file(&file(b""), 5..5).unwrap();
            writer.write_all(b">!").unwrap();
            writer.finish().unwrap();
            assert_eq!(*socket.taken.lock().unwrap(), expected, "{framing:?}");
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_an_error() {
        let mut writer = writer(&Arc::new(Slow::default()), BodyFraming::Sized(10));
        let error = writer.send_file(&file(b"0123456"), 0..10).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(writer.send_file(&file(b"0"), 0..1).is_err(), "the body is longer than its length");
    }

    #[test]
    fn a_client_that_takes_nothing_is_an_error() {
        let socket = Arc::new(Slow { is_stalled: true, ..Slow::default() });
        let mut writer = writer(&socket, BodyFraming::UntilClose);
        writer.write_all(b"abc").unwrap();
        assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
