//! A connection's handle to its peer, and one to spare for its requests.

use std::ops::Deref;
use std::sync::Arc;

use crate::peer::Peer;

/// A connection's own handle to its peer, and the one that its last request has given back. The next request takes that, so
/// that one which runs on its loop counts no references: each count is a locked instruction.
#[derive(Debug)]
pub(crate) struct PeerHandle {
    own: Arc<Peer>,
    spare: Option<Arc<Peer>>,
}

impl PeerHandle {
    pub(crate) fn new(peer: Arc<Peer>) -> Self {
        Self { own: peer, spare: None }
    }

    /// A handle for a request.
    pub(crate) fn lend(&mut self) -> Arc<Peer> {
        self.spare.take().unwrap_or_else(|| Arc::clone(&self.own))
    }

    /// A request's handle that it needs no longer.
    pub(crate) fn give_back(&mut self, peer: Arc<Peer>) {
        debug_assert!(Arc::ptr_eq(&self.own, &peer), "of another connection");
        self.spare = Some(peer);
    }
}

impl Deref for PeerHandle {
    type Target = Arc<Peer>;

    fn deref(&self) -> &Arc<Peer> {
        &self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_lent_again() {
        let mut handle = PeerHandle::new(Arc::new(Peer::unconnected()));
        let (first, second) = (handle.lend(), handle.lend());
        assert_eq!(Arc::strong_count(&handle), 3);
        handle.give_back(first);
        handle.give_back(second);
        assert_eq!(Arc::strong_count(&handle), 2, "one is kept");
        let again = handle.lend();
        assert_eq!(Arc::strong_count(&handle), 2);
        drop((again, handle.lend()));
        assert_eq!(Arc::strong_count(&handle), 1);
    }
}
