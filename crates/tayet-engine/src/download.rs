//! An answer that is made of files, on its way: a worker sends it while its client takes it, and its loop keeps what is left
//! while the client does not. So a download occupies a thread no longer than it gives it something to do.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tayet_net::{Moment, Socket};

use crate::BodyPart;
use crate::peer::Peer;

/// How much a worker sends of one download before others have their turn.
const TURN_BYTES: u64 = 4 * 1024 * 1024;

/// What is left of an answer.
pub(crate) struct Download {
    pub(crate) peer: Arc<Peer>,
    pub(crate) exchange: u32,
    pub(crate) keep_alive: bool,
    pub(crate) queued_at: Moment,
    /// When the client last took something.
    pub(crate) progress_at: Moment,
    /// How long the last turn took: the next will take about as long.
    pub(crate) expected: Option<Duration>,
    /// None of them is empty.
    parts: VecDeque<BodyPart>,
}

impl Download {
    /// `head` is the response's head and what stands before it.
    pub(crate) fn new(
        peer: Arc<Peer>,
        exchange: u32,
        keep_alive: bool,
        head: Vec<u8>,
        mut parts: VecDeque<BodyPart>,
        now: Moment,
    ) -> Self {
        parts.push_front(BodyPart::Bytes(head.into()));
        Self { peer, exchange, keep_alive, queued_at: now, progress_at: now, expected: None, parts }
    }

    /// Sends what the client takes now, a turn's worth at most, and gives how many bytes that was.
    ///
    /// # Errors
    ///
    /// Those of the connection and of reading the file. The client has an unknown part of the answer then.
    pub(crate) fn send(&mut self, socket: &dyn Socket) -> io::Result<u64> {
        let mut sent = 0;
        while let Some(part) = self.parts.front_mut()
            && sent < TURN_BYTES
        {
            match part.send(socket, TURN_BYTES - sent) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if part.length() > 0 {
                break;
            }
            self.parts.pop_front();
        }
        Ok(sent)
    }

    /// Notes what a turn came to.
    pub(crate) fn note_turn(&mut self, sent_bytes: u64, took: Duration, now: Moment) {
        self.expected = Some(took);
        if sent_bytes > 0 {
            self.progress_at = now;
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.parts.is_empty()
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download")
            .field("peer", &self.peer)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Takes so much before it takes no more.
    struct Room(Mutex<usize>);

    impl Socket for Room {
        fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize> {
            let mut room = self.0.lock().unwrap();
            if *room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = (head.len() + tail.len()).min(*room);
            *room -= count;
            Ok(count)
        }

        fn wait_writable(&self, _: Duration) -> io::Result<()> {
            panic!("a thread waits for the client")
        }

        fn shutdown(&self) {}
    }

    fn download(parts: Vec<BodyPart>) -> Download {
        let now = Moment::from_ns(0);
        Download::new(Arc::new(Peer::unconnected()), 1, true, b"head".to_vec(), parts.into(), now)
    }

    /// So many bytes of a file that has as many.
    fn file_of(length: u64) -> BodyPart {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        BodyPart::File { file: Arc::new(file), range: 0..length }
    }

    #[test]
    fn a_turn_ends_so_that_others_have_theirs() {
        let mut download = download(vec![file_of(2 * TURN_BYTES)]);
        let socket = Room(Mutex::new(usize::MAX));
        let turns = [(); 3].map(|()| {
            assert!(!download.is_done());
            download.send(&socket).unwrap()
        });
        assert_eq!(turns, [TURN_BYTES, TURN_BYTES, 4]);
        assert!(download.is_done());
    }

    #[test]
    fn what_is_not_taken_is_left_wherever_it_ends() {
        for first in 0..=14 {
            let parts = vec![BodyPart::Bytes("abc".into()), file_of(5), BodyPart::Bytes("de".into())];
            let mut download = download(parts);
            let socket = Room(Mutex::new(first));
            assert_eq!(download.send(&socket).unwrap(), first as u64);
            assert_eq!(download.is_done(), first == 14);
            *socket.0.lock().unwrap() = usize::MAX;
            assert_eq!(download.send(&socket).unwrap(), 14 - first as u64);
            assert!(download.is_done());
        }
    }

    #[test]
    fn only_what_is_taken_is_progress() {
        let mut download = download(Vec::new());
        download.note_turn(0, Duration::ZERO, Moment::from_ns(1));
        assert_eq!(download.progress_at, Moment::from_ns(0));
        download.note_turn(1, Duration::ZERO, Moment::from_ns(2));
        assert_eq!(download.progress_at, Moment::from_ns(2));
    }
}
