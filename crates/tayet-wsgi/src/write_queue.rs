//! Between an application that calls `write` and the thread that sends.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tayet::{Body, BodyWriter};

/// What may wait to be sent before `write` waits. An answer up to this size never does.
const WRITE_QUEUE_BYTES: usize = 1024 * 1024;

/// How long `write` waits without anything being sent: the sender may itself wait for a thread.
const WRITE_STALL_TIMEOUT_MS: u64 = 60_000;

/// Blocks on their way. The end that is dropped without [`WriteQueue::finish`] cuts the connection.
#[derive(Default)]
pub(crate) struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    blocks: VecDeque<Vec<u8>>,
    bytes: usize,
    end: Option<End>,
    is_abandoned: bool,
}

#[derive(Clone, Copy)]
enum End {
    Whole,
    CutShort,
}

impl WriteQueue {
    /// A body of what is pushed.
    pub(crate) fn body(self: &Arc<Self>, length: Option<u64>) -> Body {
        let sender = Sender(Arc::clone(self));
        match length {
            Some(length) => Body::from_writer_sized(length, move |out| sender.send(out)),
            None => Body::from_writer(move |out| sender.send(out)),
        }
    }

    /// Adds a block; waits while there is too much.
    ///
    /// # Errors
    ///
    /// When the client has gone, or takes nothing.
    pub(crate) fn push(&self, block: Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        while state.bytes >= WRITE_QUEUE_BYTES && !state.is_abandoned {
            let before = state.bytes;
            let limit = Duration::from_millis(WRITE_STALL_TIMEOUT_MS);
            let (back, waited) =
                self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
            state = back;
            if waited.timed_out() && state.bytes >= before {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client takes nothing of the answer",
                ));
            }
        }
        if state.is_abandoned {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone"));
        }
        state.bytes += block.len();
        state.blocks.push_back(block);
        self.changed.notify_all();
        Ok(())
    }

    /// Ends the body: whole, or cut short.
    pub(crate) fn finish(&self, is_whole: bool) {
        self.lock().end.get_or_insert(if is_whole { End::Whole } else { End::CutShort });
        self.changed.notify_all();
    }

    /// The next block; `None` at the end.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        let mut state = self.lock();
        loop {
            if let Some(block) = state.blocks.pop_front() {
                state.bytes -= block.len();
                self.changed.notify_all();
                return Ok(Some(block));
            }
            match state.end {
                Some(End::Whole) => return Ok(None),
                Some(End::CutShort) => {
                    return Err(io::Error::other("the application failed amid its answer"));
                }
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end. Dropped, sent or not, it lets the application know that nobody takes more.
struct Sender(Arc<WriteQueue>);

impl Sender {
    fn send(self, out: &mut BodyWriter<'_>) -> io::Result<()> {
        while let Some(block) = self.0.next()? {
            out.write_all(&block)?;
            out.flush()?;
        }
        Ok(())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.lock().is_abandoned = true;
        self.0.changed.notify_all();
    }
}
