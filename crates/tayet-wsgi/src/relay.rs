//! A worker process's line to its supervisor: what is published goes to the other workers by it, and the supervisor asks for
//! figures. Neither end needs the GIL for it.
//!
//! A frame is the length of what follows (4 bytes, little-endian), a letter, and what the letter says:
//!
//! | letter | from | what follows |
//! | --- | --- | --- |
//! | `t`, `b` | both | a text, or bytes, published: the length of the topic's name (2 bytes, little-endian), the name, the message |
//! | `?` | supervisor | nothing: the figures are wanted |
//! | `!` | worker | the figures, as a text |

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tayet::{Bytes, Message, Text, Topics};

/// Bytes of a frame, the topic's name with its message: what is larger cannot be published to other workers. As in
/// `tayet/relay.py`.
const MAX_FRAME_BYTES: usize = 4 * 1024 * 1024;

/// What may wait to be sent to the supervisor before a publisher waits.
const RELAY_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// How long a publisher waits for room.
const RELAY_STALL_TIMEOUT_MS: u64 = 5_000;

const TEXT: u8 = b't';
const BINARY: u8 = b'b';
const FIGURES_WANTED: u8 = b'?';
const FIGURES: u8 = b'!';

/// Gives the figures when the supervisor asks for them.
pub(crate) type Figures = Box<dyn Fn() -> String + Send>;

/// The worker's end. Dropped, it hangs up.
pub(crate) struct Relay {
    queue: Arc<Queue>,
    line: UnixStream,
}

/// Why a publication does not reach the other workers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RelayError {
    TooLarge,
    Stalled,
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => {
                write!(f, "more than {MAX_FRAME_BYTES} bytes cannot be published to other workers")
            }
            Self::Stalled => {
                f.write_str("the way to the other workers is full; those of this one were sent the message")
            }
        }
    }
}

/// A line before anything is done with it.
pub(crate) struct Line(UnixStream);

impl Line {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self(descriptor.into())
    }

    /// Begins to send, and to receive for `topics`.
    ///
    /// # Errors
    ///
    /// When the threads for it cannot be started.
    pub(crate) fn start(self, topics: Topics, figures: Figures) -> io::Result<Relay> {
        let Self(line) = self;
        let queue = Arc::<Queue>::default();
        let (sending, mut to_supervisor) = (Arc::clone(&queue), line.try_clone()?);
        let send = move || {
            while let Some(frame) = sending.next() {
                if to_supervisor.write_all(&frame).is_err() {
                    break;
                }
            }
            sending.hang_up();
        };
        let (answers, mut from_supervisor) = (Arc::clone(&queue), line.try_clone()?);
        let receive = move || {
            while let Ok(frame) = read_frame(&mut from_supervisor) {
                receive(&frame, &topics, &figures, &answers);
            }
            answers.hang_up();
        };
        thread::Builder::new().name("tayet-relay-out".to_owned()).spawn(send)?;
        thread::Builder::new().name("tayet-relay-in".to_owned()).spawn(receive)?;
        Ok(Relay { queue, line })
    }
}

impl Relay {
    /// Sends a publication to the other workers. Waits while too much is on its way.
    pub(crate) fn publish(&self, topic: &str, message: &Message) -> Result<(), RelayError> {
        let kind = if message.is_text() { TEXT } else { BINARY };
        let name_length = u16::try_from(topic.len()).map_err(|_| RelayError::TooLarge)?;
        let frame = frame(kind, &[&name_length.to_le_bytes(), topic.as_bytes(), message.as_bytes()])?;
        self.queue.push(frame)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.queue.hang_up();
        // Wakes the threads that wait for the supervisor.
        let _ = self.line.shutdown(Shutdown::Both);
    }
}

/// Frames on their way to the supervisor.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    has_hung_up: bool,
}

impl Queue {
    fn push(&self, frame: Vec<u8>) -> Result<(), RelayError> {
        let mut state = self.lock();
        while state.bytes >= RELAY_QUEUE_BYTES && !state.has_hung_up {
            let limit = Duration::from_millis(RELAY_STALL_TIMEOUT_MS);
            let (back, waited) =
                self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
            state = back;
            if waited.timed_out() {
                return Err(RelayError::Stalled);
            }
        }
        // Without a supervisor there are no other workers.
        if !state.has_hung_up {
            state.bytes += frame.len();
            state.frames.push_back(frame);
            self.changed.notify_all();
        }
        Ok(())
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        while !state.has_hung_up {
            if let Some(frame) = state.frames.pop_front() {
                state.bytes -= frame.len();
                self.changed.notify_all();
                return Some(frame);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn hang_up(&self) {
        self.lock().has_hung_up = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn frame(kind: u8, parts: &[&[u8]]) -> Result<Vec<u8>, RelayError> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    if length > MAX_FRAME_BYTES {
        return Err(RelayError::TooLarge);
    }
    let mut frame = Vec::with_capacity(4 + length);
    frame.extend_from_slice(&(length as u32).to_le_bytes());
    frame.push(kind);
    parts.iter().for_each(|part| frame.extend_from_slice(part));
    Ok(frame)
}

fn read_frame(line: &mut UnixStream) -> io::Result<Bytes> {
    let mut length = [0; 4];
    line.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length == 0 || length > MAX_FRAME_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; length];
    line.read_exact(&mut frame)?;
    Ok(frame.into())
}

fn receive(frame: &Bytes, topics: &Topics, figures: &Figures, answers: &Queue) {
    match frame[0] {
        FIGURES_WANTED => {
            // Figures that are too many, or find no room, are left out of the supervisor's answer.
            let _ = self::frame(FIGURES, &[figures().as_bytes()]).and_then(|frame| answers.push(frame));
        }
        kind => {
            let Some((topic, message)) = read_publication(kind, frame) else {
                tracing::error!("the supervisor sent something that is no publication");
                return;
            };
            // The worker from which it comes has checked the name. Topics that nobody here is in are nobody's concern.
            let _ = topics.publish(&topic, message);
        }
    }
}

fn read_publication(kind: u8, frame: &Bytes) -> Option<(String, Message)> {
    let name_length = usize::from(u16::from_le_bytes(frame.get(1..3)?.try_into().ok()?));
    let topic = str::from_utf8(frame.get(3..3 + name_length)?).ok()?.to_owned();
    let message = frame.slice(3 + name_length..);
    match kind {
        TEXT => Some((topic, Message::Text(Text::from_utf8(message).ok()?))),
        BINARY => Some((topic, Message::Binary(message))),
        _ => None,
    }
}
