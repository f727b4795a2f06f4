//! A written body on its way to the socket: framed, gathered, and sent as fast as the client takes it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tayet_net::Socket;

use crate::answer::BodyFraming;

/// Bytes gathered before they are sent as one chunk.
const CHUNK_BYTES: usize = 16 * 1024;
/// How much of a file one call to the kernel sends at most.
const FILE_PIECE_BYTES: u64 = 4 * 1024 * 1024;

/// The end of a [`BodyWriter`](crate::BodyWriter) that is a socket.
pub(crate) struct BodyWire {
    socket: Arc<dyn Socket>,
    stall_timeout: Duration,
    framing: BodyFraming,
    sent_bytes: u64,
    /// The response's head at first, then framing; it is sent before what is gathered.
    pending: Vec<u8>,
    gathered: Vec<u8>,
    /// Once sending has failed nobody knows what the client has, so nothing more is sent.
    is_broken: bool,
}

impl BodyWire {
    /// `head` is sent with the first chunk.
    pub(crate) fn new(
        socket: Arc<dyn Socket>,
        stall_timeout: Duration,
        framing: BodyFraming,
        head: Vec<u8>,
    ) -> Self {
        let (pending, gathered) = (head, Vec::new());
        Self { socket, stall_timeout, framing, sent_bytes: 0, pending, gathered, is_broken: false }
    }

    /// Ends the body. Returns how many bytes were sent, head and framing included.
    pub(crate) fn finish(mut self, trailers: Option<&HeaderMap>) -> io::Result<u64> {
        if self.framing == BodyFraming::Chunked {
            tayet_http1::encode_chunk(&mut self.pending, &self.gathered);
            self.gathered.clear();
            tayet_http1::encode_last_chunk(&mut self.pending, trailers);
        }
        self.flush()?;
        Ok(self.sent_bytes)
    }

    /// Sends these bytes of a file behind what is gathered, as one chunk.
    pub(crate) fn send_file(&mut self, file: &File, range: Range<u64>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.flush()?;
        if self.framing == BodyFraming::Chunked {
            tayet_http1::encode_chunk_size(&mut self.pending, range.end - range.start);
            self.send(&[])?;
        }
        let sent = self.send_pieces(file, range);
        self.is_broken = sent.is_err();
        sent?;
        if self.framing == BodyFraming::Chunked {
            self.pending.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Sends what the client takes now of what is gathered; `true` when that is all of it.
    pub(crate) fn flush_now(&mut self) -> io::Result<bool> {
        if self.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        match self.framing {
            BodyFraming::Chunked => tayet_http1::encode_chunk(&mut self.pending, &self.gathered),
            BodyFraming::Sized(_) | BodyFraming::UntilClose => self.pending.extend_from_slice(&self.gathered),
        }
        self.gathered.clear();
        while !self.pending.is_empty() {
            match self.socket.send(&self.pending, &[]) {
                Ok(count) => {
                    self.pending.drain(..count);
                    self.sent_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    self.is_broken = true;
                    return Err(error);
                }
            }
        }
        Ok(true)
    }

    fn send_pieces(&mut self, file: &File, mut range: Range<u64>) -> io::Result<()> {
        while !range.is_empty() {
            let piece_bytes = (range.end - range.start).min(FILE_PIECE_BYTES) as usize;
            let count = when_writable(&*self.socket, self.stall_timeout, |socket| {
                socket.send_file(file, range.start, piece_bytes)
            })? as u64;
            if count == 0 {
                let detail = "the file has become shorter while it was sent";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
            }
            range.start += count;
            self.sent_bytes += count;
        }
        Ok(())
    }

    /// Sends what is pending, and `bytes` as one chunk.
    fn send_framed(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.framing {
            BodyFraming::Chunked => {
                tayet_http1::encode_chunk(&mut self.pending, bytes);
                self.send(&[])
            }
            BodyFraming::Sized(_) | BodyFraming::UntilClose => self.send(bytes),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let sent = self.send_all(bytes);
        self.is_broken = sent.is_err();
        self.pending.clear();
        sent
    }

    fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut pending, mut bytes) = (&self.pending[..], bytes);
        while !(pending.is_empty() && bytes.is_empty()) {
            let send = |socket: &dyn Socket| socket.send(pending, bytes);
            let count = when_writable(&*self.socket, self.stall_timeout, send)?;
            self.sent_bytes += count as u64;
            let of_pending = count.min(pending.len());
            pending = &pending[of_pending..];
            bytes = &bytes[count - of_pending..];
        }
        Ok(())
    }
}

/// Sends by `send`, as soon as the client takes something.
pub(crate) fn when_writable(
    socket: &dyn Socket,
    stall_timeout: Duration,
    send: impl Fn(&dyn Socket) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match send(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => socket.wait_writable(stall_timeout)?,
            result => return result,
        }
    }
}

impl Write for BodyWire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.is_empty() && bytes.len() >= CHUNK_BYTES {
            let count = bytes.len().min(4 * CHUNK_BYTES);
            self.send_framed(&bytes[..count])?;
            return Ok(count);
        }
        let count = bytes.len().min(CHUNK_BYTES - self.gathered.len());
        self.gathered.extend_from_slice(&bytes[..count]);
        if self.gathered.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        let sent = self.send_framed(&gathered);
        self.gathered = gathered;
        self.gathered.clear();
        sent
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
        fn send(&self, first: &[u8], second: &[u8]) -> io::Result<usize> {
            let mut turn = self.turn.lock().unwrap();
            *turn = !*turn;
            if *turn || self.is_stalled {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let both = [first, second].concat();
            let count = both.len().min(7);
            self.taken.lock().unwrap().extend_from_slice(&both[..count]);
            Ok(count)
        }

        fn wait_writable(&self, _: Duration) -> io::Result<()> {
            if self.is_stalled { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
        }

        fn shutdown(&self) {}
    }

    fn wire(socket: &Arc<Slow>, framing: BodyFraming) -> BodyWire {
        BodyWire::new(Arc::clone(socket) as _, Duration::from_secs(1), framing, b"HEAD|".to_vec())
    }

    fn taken(socket: &Slow) -> String {
        String::from_utf8(socket.taken.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn chunks_follow_the_head_and_trailers_the_chunks() {
        let socket = Arc::new(Slow::default());
        let mut wire = wire(&socket, BodyFraming::Chunked);
        wire.write_all(b"abc").unwrap();
        wire.flush().unwrap();
        wire.write_all(b"0123456789").unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "1".parse().unwrap());
        trailers.insert("content-length", "13".parse().unwrap());
        wire.finish(Some(&trailers)).unwrap();
        assert_eq!(taken(&socket), "HEAD|3\r\nabc\r\na\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n");
    }

    #[test]
    fn a_body_of_known_length_is_sent_bare() {
        let socket = Arc::new(Slow::default());
        let mut wire = wire(&socket, BodyFraming::Sized(3 * CHUNK_BYTES as u64 + 4));
        wire.write_all(b"abcd").unwrap();
        wire.write_all(&[b'x'; 3 * CHUNK_BYTES]).unwrap();
        assert_eq!(wire.finish(None).unwrap(), 3 * CHUNK_BYTES as u64 + 9);
        assert_eq!(taken(&socket), format!("HEAD|abcd{}", "x".repeat(3 * CHUNK_BYTES)));
    }

    #[test]
    fn what_the_client_does_not_take_now_goes_with_the_next_flush() {
        for (framing, expected) in [
            (BodyFraming::Chunked, "HEAD|8\r\nabcdefgh\r\n2\r\nij\r\n0\r\n\r\n"),
            (BodyFraming::Sized(10), "HEAD|abcdefghij"),
        ] {
            let socket = Arc::new(Slow::default());
            let mut wire = wire(&socket, framing);
            wire.write_all(b"abcdefgh").unwrap();
            assert!(!wire.flush_now().unwrap(), "it blocks at first");
            assert!(!wire.flush_now().unwrap());
            assert_eq!(taken(&socket), expected[..7]);
            wire.flush().unwrap();
            assert!(wire.flush_now().unwrap());
            wire.write_all(b"ij").unwrap();
            assert_eq!(wire.finish(None).unwrap(), expected.len() as u64);
            assert_eq!(taken(&socket), expected, "{framing:?}");
        }
    }

    /// A file of these bytes, without a name.
    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_file_stands_where_it_is_written() {
        for (framing, expected) in [
            (BodyFraming::Sized(13), "HEAD|<23456789ab>!"),
            (BodyFraming::UntilClose, "HEAD|<23456789ab>!"),
            (BodyFraming::Chunked, "HEAD|1\r\n<\r\na\r\n23456789ab\r\n2\r\n>!\r\n0\r\n\r\n"),
        ] {
            let socket = Arc::new(Slow::default());
            let mut wire = wire(&socket, framing);
            wire.write_all(b"<").unwrap();
            wire.send_file(&file_of(b"0123456789abcdef"), 2..12).unwrap();
            wire.send_file(&file_of(b""), 5..5).unwrap();
            wire.write_all(b">!").unwrap();
            assert_eq!(wire.finish(None).unwrap(), expected.len() as u64);
            assert_eq!(taken(&socket), expected, "{framing:?}");
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_an_error_for_good() {
        let mut wire = wire(&Arc::new(Slow::default()), BodyFraming::Sized(10));
        let error = wire.send_file(&file_of(b"0123456"), 0..10).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(wire.finish(None).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_write_of_any_size_takes_no_more_memory_than_a_few_chunks() {
        let socket = Arc::new(Slow::default());
        let mut wire = wire(&socket, BodyFraming::Chunked);
        wire.write_all(&vec![b'x'; 40 * CHUNK_BYTES]).unwrap();
        assert!(wire.pending.capacity() + wire.gathered.capacity() < 10 * CHUNK_BYTES);
    }

    #[test]
    fn a_client_that_takes_nothing_is_an_error_for_good() {
        let socket = Arc::new(Slow { is_stalled: true, ..Slow::default() });
        let mut wire = wire(&socket, BodyFraming::UntilClose);
        wire.write_all(b"abc").unwrap();
        assert_eq!(wire.flush().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(wire.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(wire.finish(None).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
