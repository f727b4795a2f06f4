//! What a route may be told about how it runs.

use std::time::Duration;

use tayet_engine::{BodyUse, Pin};

/// How a handler is run; what is not set is decided elsewhere (by its layers, its extractors, the server's limits, or what
/// the server learns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where it runs. Default: where it has shown that it belongs.
    pub pin: Option<Pin>,
    /// Whether where it belongs is learned for each group of paths. Default: for the handler as a whole.
    pub learns_by_path: bool,
    /// How it takes the body. Default: by its extractors.
    pub body: Option<BodyUse>,
    /// Most bytes of a body held in memory. Default:
    /// [`Limits::max_body_bytes`](crate::Limits::max_body_bytes).
    pub max_body_bytes: Option<usize>,
    /// Most calls that run at the same time. Default: as many as there are threads.
    pub concurrency_limit: Option<usize>,
    /// Whether its calls take turns at something ([`Turn`](crate::Turn)).
    pub takes_turns: bool,
    /// After this long the client gets a 503. Default: never.
    pub timeout: Option<Duration>,
}

impl Settings {
    /// These, and where they say nothing, `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            pin: self.pin.or(other.pin),
            learns_by_path: self.learns_by_path || other.learns_by_path,
            body: self.body.or(other.body),
            max_body_bytes: self.max_body_bytes.or(other.max_body_bytes),
            concurrency_limit: self.concurrency_limit.or(other.concurrency_limit),
            takes_turns: self.takes_turns || other.takes_turns,
            timeout: self.timeout.or(other.timeout),
        }
    }
}
