//! Answers of loops that do not look at what they are asked.

use crate::head;

/// The answers of a server that parses nothing: the load's requests are all of one size, so counting bytes tells how many there were,
/// and each is answered by a constant. A lone request of any other size is the load's way to say `Connection: close`.
pub struct Answers {
    request_bytes: usize,
    one_bytes: usize,
    batch: Vec<u8>,
    closing: Vec<u8>,
}

/// What bytes that came from a connection ask for.
pub enum Asked {
    /// So many answers.
    Answers(usize),
    /// One, and the end.
    Closing,
}

impl Answers {
    /// Answers with `body` to requests of `request_bytes`; `at_once` lie behind each other.
    pub fn new(request_bytes: usize, body: &[u8], at_once: usize) -> Self {
        let answer = |connection| [head(body.len() as u64, connection).as_bytes(), body].concat();
        let one = answer("");
        let (batch, closing) = (one.repeat(at_once), answer("Connection: close\r\n"));
        Self { request_bytes, one_bytes: one.len(), batch, closing }
    }

    /// Counts `received_bytes` more. What came of a request whose rest is to come is kept in `partial_bytes`.
    pub fn count(&self, received_bytes: usize, partial_bytes: &mut usize) -> Asked {
        let is_lone = received_bytes < 2 * self.request_bytes && *partial_bytes == 0;
        if is_lone && received_bytes != self.request_bytes {
            return Asked::Closing;
        }
        let total = *partial_bytes + received_bytes;
        *partial_bytes = total % self.request_bytes;
        Asked::Answers(total / self.request_bytes)
    }

    /// So many answers, or as many as lie behind each other; and how many they are.
    pub fn batch(&self, wanted: usize) -> (&[u8], usize) {
        let count = wanted.min(self.batch.len() / self.one_bytes);
        (&self.batch[..count * self.one_bytes], count)
    }

    /// The one that says that it is the last.
    pub fn closing(&self) -> &[u8] {
        &self.closing
    }
}
