//! What a session tells its handler.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tayet_websocket::{CloseCode, CloseFrame, Message};

use crate::channel::Channel;
use crate::opening::OpenStream;
use crate::shared::Shared;
use crate::{Closed, EventStream, Request, WebSocket, WebSocketError};

/// Something that a handler is told.
pub(crate) enum SocketEvent {
    Open(Box<Request>),
    OpenStream(OpenStream, Box<Request>),
    Message(Message),
    Drained,
    Error(WebSocketError),
    Close(Closed),
}

impl SocketEvent {
    /// Bytes that it holds.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Message(message) => message.len(),
            _ => 0,
        }
    }

    /// Calls the channel's handler with it. A panic closes the socket with 1011.
    pub(crate) fn handle(self, channel: &Arc<Channel>, shared: &Shared) {
        let called = catch_unwind(AssertUnwindSafe(|| call(channel, self)));
        if let Err(panic) = called {
            shared.note_panic(&*panic);
            channel.close(Some(&CloseFrame::new(CloseCode::INTERNAL_ERROR, "a handler failed")));
            if let Some(handler) = &channel.handler {
                let socket = WebSocket::new(Arc::clone(channel));
                let told = catch_unwind(AssertUnwindSafe(|| {
                    handler.on_error(&socket, WebSocketError::Panicked);
                }));
                if let Err(panic) = told {
                    shared.note_panic(&*panic);
                }
            }
        }
    }
}

fn call(channel: &Arc<Channel>, event: SocketEvent) {
    if let SocketEvent::OpenStream(open, request) = event {
        open(EventStream::new(Arc::clone(channel)), &request);
        return;
    }
    let Some(handler) = &channel.handler else { return };
    let socket = WebSocket::new(Arc::clone(channel));
    match event {
        SocketEvent::Open(request) => handler.on_open(&socket, &request),
        SocketEvent::Message(message) => handler.on_message(&socket, message),
        SocketEvent::Drained => handler.on_drained(&socket),
        SocketEvent::Error(error) => handler.on_error(&socket, error),
        SocketEvent::Close(closed) => handler.on_close(&socket, &closed),
        SocketEvent::OpenStream(..) => {}
    }
}

impl fmt::Debug for SocketEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(_) => f.write_str("Open"),
            Self::OpenStream(..) => f.write_str("OpenStream"),
            Self::Message(message) => write!(f, "Message({} bytes)", message.len()),
            Self::Drained => f.write_str("Drained"),
            Self::Error(error) => write!(f, "Error({error})"),
            Self::Close(closed) => write!(f, "Close({})", closed.code()),
        }
    }
}
