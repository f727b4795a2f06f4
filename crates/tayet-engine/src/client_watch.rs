//! Seeing a client go from elsewhere than its handler.

use std::fmt;
use std::sync::Arc;

use crate::peer::Peer;

/// Tells whether a request's client has gone, to those who work for it without having the [`Request`](crate::Request). A cheap
/// clone.
#[derive(Clone)]
pub struct ClientWatch(Arc<Peer>);

impl ClientWatch {
    pub(crate) fn new(peer: Arc<Peer>) -> Self {
        Self(peer)
    }

    /// As [`Request::is_disconnected`](crate::Request::is_disconnected).
    pub fn is_disconnected(&self) -> bool {
        self.0.is_disconnected()
    }
}

impl fmt::Debug for ClientWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientWatch").field("is_disconnected", &self.is_disconnected()).finish()
    }
}
