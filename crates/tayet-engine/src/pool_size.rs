//! How many threads a pool has.

/// How many threads a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Exactly so many workers.
    Fixed { workers: usize },
    /// As many as are needed, up to `max`, of which `standby` are kept free for loops. It grows at once when it is
    /// `eager`, else when the monitor finds that jobs have waited.
    Elastic { max: usize, standby: usize, eager: bool },
}
