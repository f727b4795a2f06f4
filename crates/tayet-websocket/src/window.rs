//! What was inflated last, for the next message to refer to.

/// The end of what a peer that takes its context over has sent. Empty for one that doesn't.
#[derive(Debug, Default)]
pub(crate) struct Window {
    bytes: Vec<u8>,
}

impl Window {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends what was inflated, and forgets all but the last `max_bytes`.
    pub(crate) fn remember(&mut self, inflated: &[u8], max_bytes: usize) {
        let inflated = &inflated[inflated.len().saturating_sub(max_bytes)..];
        let forgotten = (self.bytes.len() + inflated.len()).saturating_sub(max_bytes);
        self.bytes.drain(..forgotten);
        self.bytes.extend_from_slice(inflated);
    }

    pub(crate) fn release_idle(&mut self) {
        self.bytes.shrink_to_fit();
    }
}
