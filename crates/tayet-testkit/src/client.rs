//! What a peer does.

use std::collections::VecDeque;
use std::time::Duration;

use crate::Random;

/// Bytes that wait for the server to receive them, unless the script says otherwise.
const DEFAULT_RECEIVE_WINDOW_BYTES: usize = 256 * 1024;

/// Bytes that the server has sent and the client has not read, unless the script says otherwise.
const DEFAULT_SEND_BUFFER_BYTES: usize = 64 * 1024;

/// A scripted client: when it connects, what it does then, step by step, and how it reads.
///
/// ```
/// use std::time::Duration;
/// use tayet_testkit::{Client, Reading};
///
/// let dripping = Client::connecting_at(Duration::from_millis(5))
///     .send("GET / HTTP/1.1\r\n")
///     .wait(Duration::from_secs(1))
///     .send("Host: x\r\n\r\n")
///     .await_answers(1)
///     .close()
///     .reading(Reading::eager());
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) connects_at: Duration,
    pub(crate) steps: VecDeque<Step>,
    pub(crate) reading: Reading,
    pub(crate) resets_after_bytes: Option<usize>,
    pub(crate) receive_window_bytes: usize,
    pub(crate) send_buffer_bytes: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    AwaitAnswers(usize),
    HalfClose,
    Close,
    Reset,
}

/// How a client reads what the server sends.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub(crate) from: Duration,
    pub(crate) every: Duration,
    pub(crate) bytes: usize,
    pub(crate) times: usize,
}

impl Reading {
    /// All that comes, as it comes.
    pub fn eager() -> Self {
        Self { from: Duration::ZERO, every: Duration::ZERO, bytes: usize::MAX, times: usize::MAX }
    }

    /// Up to `bytes` every so often.
    pub fn slow(bytes: usize, every: Duration) -> Self {
        Self { every, bytes, ..Self::eager() }
    }

    /// Nothing, ever.
    pub fn never() -> Self {
        Self::eager().from(Duration::MAX)
    }

    /// The same, but only so many times.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// The same, but nothing before this time since the start of the simulation.
    #[must_use]
    pub fn from(mut self, from: Duration) -> Self {
        self.from = from;
        self
    }
}

impl Client {
    /// A client that connects at this time since the start of the simulation, then does nothing and reads eagerly.
    pub fn connecting_at(at: Duration) -> Self {
        Self {
            connects_at: at,
            steps: VecDeque::new(),
            reading: Reading::eager(),
            resets_after_bytes: None,
            receive_window_bytes: DEFAULT_RECEIVE_WINDOW_BYTES,
            send_buffer_bytes: DEFAULT_SEND_BUFFER_BYTES,
        }
    }

    /// Sends these bytes, as one piece.
    #[must_use]
    pub fn send(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Send(bytes.into()))
    }

    /// Sends these bytes, cut at up to `max_cuts` random places, with a random wait of up to `max_gap` at each.
    #[must_use]
    pub fn send_cut(
        mut self,
        bytes: impl Into<Vec<u8>>,
        random: &mut Random,
        max_cuts: usize,
        max_gap: Duration,
    ) -> Self {
        let bytes = bytes.into();
        let mut cuts =
            (0..random.size(0..=max_cuts)).map(|_| random.size(0..=bytes.len())).collect::<Vec<_>>();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        for piece in cuts.windows(2) {
            if piece[0] > 0 {
                self = self.wait(Duration::from_micros(random.within(0..=max_gap.as_micros() as u64)));
            }
            self = self.send(&bytes[piece[0]..piece[1]]);
        }
        self
    }

    /// Waits for this long.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.step(Step::Wait(time))
    }

    /// Waits until it has read this many whole answers, interim ones included, since it connected.
    #[must_use]
    pub fn await_answers(self, count: usize) -> Self {
        self.step(Step::AwaitAnswers(count))
    }

    /// Ends its sending direction, and goes on reading.
    #[must_use]
    pub fn half_close(self) -> Self {
        self.step(Step::HalfClose)
    }

    /// Closes: what it has not read yet, and what still comes, resets the connection.
    #[must_use]
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// Resets the connection.
    #[must_use]
    pub fn reset(self) -> Self {
        self.step(Step::Reset)
    }

    /// Resets the connection once it has read so many bytes.
    #[must_use]
    pub fn reset_after_reading(mut self, bytes: usize) -> Self {
        self.resets_after_bytes = Some(bytes);
        self
    }

    /// How it reads. Eagerly, if nothing is said.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// How many bytes may wait for the server to receive them, and for the client to read them. 256 KiB and 64 KiB, if
    /// nothing is said.
    #[must_use]
    pub fn buffers(mut self, receive_window_bytes: usize, send_buffer_bytes: usize) -> Self {
        self.receive_window_bytes = receive_window_bytes;
        self.send_buffer_bytes = send_buffer_bytes;
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_lose_and_add_nothing() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let client = Client::connecting_at(Duration::ZERO).send_cut(
                *b"abcdefgh",
                &mut random,
                5,
                Duration::from_secs(1),
            );
            let sent = client.steps.iter().flat_map(|step| match step {
                Step::Send(bytes) => bytes.clone(),
                _ => Vec::new(),
            });
            assert_eq!(sent.collect::<Vec<_>>(), b"abcdefgh");
        }
    }
}
