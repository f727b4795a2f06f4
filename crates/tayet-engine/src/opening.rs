//! What an answer begins that leaves request and response behind.

use std::fmt;
use std::sync::Arc;

use crate::{EventStream, Request, WebSocketHandler, WebSocketOptions};

/// The session that follows an answer's head.
pub(crate) enum Opening {
    WebSocket {
        handler: Arc<dyn WebSocketHandler>,
        options: WebSocketOptions,
    },
    /// A stream of events; `open` is called with it, and may run for as long as it likes.
    Events {
        open: OpenStream,
    },
}

pub(crate) type OpenStream = Box<dyn FnOnce(EventStream, &Request) + Send>;

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebSocket { .. } => "WebSocket",
            Self::Events { .. } => "Events",
        })
    }
}
