//! What an answer begins that leaves request and response behind.

use std::fmt;
use std::sync::Arc;

use crate::session::{SESSIONS, SessionWork};
use crate::{EventStream, Request, WebSocketHandler, WebSocketOptions};

/// The session that follows an answer's head, and who does its work.
pub(crate) struct Opening {
    pub(crate) kind: OpeningKind,
    pub(crate) work: &'static dyn SessionWork,
}

pub(crate) enum OpeningKind {
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

impl Opening {
    pub(crate) fn web_socket(handler: Arc<dyn WebSocketHandler>, options: WebSocketOptions) -> Self {
        Self { kind: OpeningKind::WebSocket { handler, options }, work: SESSIONS }
    }

    pub(crate) fn events(open: OpenStream) -> Self {
        Self { kind: OpeningKind::Events { open }, work: SESSIONS }
    }

    pub(crate) fn is_web_socket(&self) -> bool {
        matches!(self.kind, OpeningKind::WebSocket { .. })
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_web_socket() { "WebSocket" } else { "Events" })
    }
}
