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
/// Bytes that may be gathered for a writer that goes on meanwhile, and the last of what it adds beyond.
const SOON_BYTES: usize = 32 * 1024;
/// Looks between two attempts to send to a client that takes nothing, at most: some hundred milliseconds.
const MAX_PAUSE_LOOKS: u32 = 63;
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
    watched: Watched,
    /// Once sending has failed nobody knows what the client has, so nothing more is sent.
    is_broken: bool,
}

/// What another thread, which looks now and then, knows of what is still to be sent.
#[derive(Default)]
struct Watched {
    is_watched: bool,
    /// Nothing was added since the last look.
    is_seen: bool,
    /// Looks from one to the next attempt at a client that takes nothing, and how many of them are left.
    pause_looks: u32,
    looks_left: u32,
}

/// What another thread's look at a wire has found, and left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing to look after: it is sent.
    Nothing,
    /// Something that was not there at the last look: the next is to come soon.
    Fresh,
    /// Something that the client does not take.
    Stalled,
}

impl BodyWire {
    /// `head` is sent with the first chunk.
    pub(crate) fn new(
        socket: Arc<dyn Socket>,
        stall_timeout: Duration,
        framing: BodyFraming,
        head: Vec<u8>,
    ) -> Self {
        let (gathered, watched) = (Vec::new(), Watched::default());
        Self {
            socket,
            stall_timeout,
            framing,
            sent_bytes: 0,
            pending: head,
            gathered,
            watched,
            is_broken: false,
        }
    }

    /// Ends the body. Returns how many bytes were sent, head and framing included.
    pub(crate) fn finish(&mut self, trailers: Option<&HeaderMap>) -> io::Result<u64> {
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
        if self.framing == BodyFraming::Chunked && !self.gathered.is_empty() {
            tayet_http1::encode_chunk_size(&mut self.pending, self.gathered.len() as u64);
            self.gathered.extend_from_slice(b"\r\n");
        }
        while !(self.pending.is_empty() && self.gathered.is_empty()) {
            match self.socket.send(&self.pending, &self.gathered) {
                Ok(count) => {
                    let of_pending = count.min(self.pending.len());
                    self.pending.drain(..of_pending);
                    self.gathered.drain(..count - of_pending);
                    self.sent_bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.pending.append(&mut self.gathered);
                    return Ok(false);
                }
                Err(error) => {
                    self.is_broken = true;
                    return Err(error);
                }
            }
        }
        Ok(true)
    }

    /// Gathers `bytes`, and sends what the client takes now once that makes [`SOON_BYTES`]; `false` when it does not take all.
    pub(crate) fn write_soon(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.gathered.extend_from_slice(bytes);
        self.watched.is_seen = false;
        if self.gathered.len() < SOON_BYTES && !self.is_broken { Ok(true) } else { self.flush_now() }
    }

    /// Whether another thread is to begin looking at what is still to be sent. Says so once, until a look finds nothing.
    pub(crate) fn begin_watch(&mut self) -> bool {
        let has_something = !self.has_nothing_to_send();
        has_something && !std::mem::replace(&mut self.watched.is_watched, true)
    }

    /// Another thread's look: sends what was there at the last one already. A client that takes nothing is tried ever more
    /// rarely.
    pub(crate) fn look(&mut self) -> Found {
        if self.has_nothing_to_send() {
            self.watched.is_watched = false;
            return Found::Nothing;
        }
        if !std::mem::replace(&mut self.watched.is_seen, true) {
            (self.watched.pause_looks, self.watched.looks_left) = (0, 0);
            return Found::Fresh;
        }
        if self.watched.looks_left > 0 {
            self.watched.looks_left -= 1;
            return Found::Stalled;
        }
        // What is wrong, its writer learns when it comes back.
        if matches!(self.flush_now(), Ok(false)) {
            self.watched.pause_looks = (2 * self.watched.pause_looks + 1).min(MAX_PAUSE_LOOKS);
            self.watched.looks_left = self.watched.pause_looks;
            return Found::Stalled;
        }
        self.watched.is_watched = false;
        Found::Nothing
    }

    fn has_nothing_to_send(&self) -> bool {
        self.is_broken || self.pending.is_empty() && self.gathered.is_empty()
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
        let count = bytes.len().min(CHUNK_BYTES.saturating_sub(self.gathered.len()).max(1));
        self.gathered.extend_from_slice(&bytes[..count]);
        if self.gathered.len() >= CHUNK_BYTES {
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

    /// A wire with nothing of a head left to send, to a client that takes all there is.
    fn soon_wire(taken: &Arc<Mutex<Vec<usize>>>) -> BodyWire {
        struct Fast(Arc<Mutex<Vec<usize>>>);

        impl Socket for Fast {
            fn send(&self, first: &[u8], second: &[u8]) -> io::Result<usize> {
                let count = first.len() + second.len();
                self.0.lock().unwrap().push(count);
                Ok(count)
            }

            fn wait_writable(&self, _: Duration) -> io::Result<()> {
                panic!("it waits for the client")
            }

            fn shutdown(&self) {}
        }

        let socket = Arc::new(Fast(Arc::clone(taken)));
        BodyWire::new(socket, Duration::from_secs(1), BodyFraming::UntilClose, Vec::new())
    }

    #[test]
    fn what_is_to_be_sent_soon_goes_together() {
        let taken = Arc::default();
        let mut wire = soon_wire(&taken);
        for _ in 0..=2 * SOON_BYTES / 1024 {
            assert!(wire.write_soon(&[b'x'; 1024]).unwrap());
        }
        assert_eq!(*taken.lock().unwrap(), [SOON_BYTES, SOON_BYTES]);
        wire.write_all(&[b'x'; 2 * CHUNK_BYTES]).unwrap();
        wire.finish(None).unwrap();
        assert_eq!(taken.lock().unwrap().iter().sum::<usize>(), 2 * SOON_BYTES + 1024 + 2 * CHUNK_BYTES);
    }

    #[test]
    fn what_a_look_finds_again_is_sent_by_it() {
        let taken = Arc::default();
        let mut wire = soon_wire(&taken);
        assert!(!wire.begin_watch(), "there is nothing to watch");
        assert_eq!(wire.look(), Found::Nothing);
        wire.write_soon(b"abc").unwrap();
        assert!(wire.begin_watch() && !wire.begin_watch(), "once");
        assert_eq!(wire.look(), Found::Fresh);
        wire.write_soon(b"d").unwrap();
        assert_eq!(wire.look(), Found::Fresh, "something has been added");
        assert!(taken.lock().unwrap().is_empty());
        assert_eq!(wire.look(), Found::Nothing);
        assert_eq!(*taken.lock().unwrap(), [4]);
        wire.write_soon(b"e").unwrap();
        assert!(wire.begin_watch(), "the last look has ended it");
    }

    #[test]
    fn looks_try_a_client_that_takes_nothing_ever_more_rarely() {
        let socket = Arc::new(Slow { is_stalled: true, ..Slow::default() });
        let mut wire = wire(&socket, BodyFraming::Chunked);
        wire.write_soon(b"abc").unwrap();
        wire.look();
        let mut tries = Vec::new();
        for look in 0..200 {
            let before = *socket.turn.lock().unwrap();
            wire.look();
            if *socket.turn.lock().unwrap() != before {
                tries.push(look);
            }
        }
        assert_eq!(tries, [0, 2, 6, 14, 30, 62, 126, 190]);
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
