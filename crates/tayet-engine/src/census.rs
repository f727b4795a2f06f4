//! Figures of the pool.

/// Figures of the pool at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) threads: usize,
    pub(crate) busy: usize,
    /// What waits, for a thread or behind a bulkhead.
    pub(crate) queued: usize,
}
