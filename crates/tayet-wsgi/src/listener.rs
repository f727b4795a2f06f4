//! Who hears of what comes on a WebSocket: an inbox, or the application's own functions.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tayet::{CloseCode, Closed, Message, Request, WebSocketHandler};

use crate::attachment::attached;
use crate::inbox::Inbox;
use crate::log::print_exception;
use crate::web_socket::{WebSocket, WebSocketClosed};

/// What the engine tells of one WebSocket.
pub(crate) struct Listener {
    /// Taken when the socket is open.
    opening: Mutex<Option<Opening>>,
    ear: Ear,
}

/// Gives the application its socket, and then says that it is there. That it is dropped with the listener says that it will
/// never be.
pub(crate) struct Opening {
    pub(crate) socket: Arc<OnceLock<tayet::WebSocket>>,
    pub(crate) opened: SyncSender<()>,
}

pub(crate) enum Ear {
    /// The application receives by itself.
    Inbox(Arc<Inbox>),
    /// The application is called. `None` once the socket is closed: the functions may well refer to the socket, and it to
    /// them.
    Callbacks(Mutex<Option<Callbacks>>),
}

pub(crate) struct Callbacks {
    pub(crate) socket: Py<WebSocket>,
    pub(crate) on_message: Py<PyAny>,
    pub(crate) on_close: Option<Py<PyAny>>,
}

impl Listener {
    pub(crate) fn new(opening: Opening, ear: Ear) -> Self {
        Self { opening: Mutex::new(Some(opening)), ear }
    }
}

impl WebSocketHandler for Listener {
    fn on_open(&self, socket: &tayet::WebSocket, _: &Request) {
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Opening { socket: place, opened }) = opening {
            // The functions may use it before the call that accepts it has gone on.
            let _ = place.set(socket.clone());
            // Who waits for it waits until it is there.
            let _ = opened.send(());
        }
    }

    fn on_message(&self, socket: &tayet::WebSocket, message: Message) {
        match &self.ear {
            Ear::Inbox(inbox) => inbox.put(socket, message),
            Ear::Callbacks(callbacks) => attached(|py| {
                let Some((this, on_message)) = message_callback(py, callbacks) else { return };
                let called = on_message.call1((this, to_python(py, &message)));
                if let Err(error) = called {
                    failed(py, socket, &error);
                }
            }),
        }
    }

    fn on_close(&self, socket: &tayet::WebSocket, closed: &Closed) {
        match &self.ear {
            Ear::Inbox(inbox) => inbox.close(closed),
            Ear::Callbacks(callbacks) => {
                let callbacks = callbacks.lock().unwrap_or_else(PoisonError::into_inner).take();
                let Some(Callbacks { socket: this, on_close, on_message }) = callbacks else { return };
                attached(|py| {
                    this.get().note_closed(closed);
                    if let Some(on_close) = on_close
                        && let Err(error) = on_close.call1(py, (&this, closed.code(), closed.reason()))
                    {
                        failed(py, socket, &error);
                    }
                    drop((this, on_message));
                });
            }
        }
    }
}

/// What a message is in Python.
pub(crate) fn to_python<'py>(py: Python<'py>, message: &Message) -> Bound<'py, PyAny> {
    match message {
        Message::Text(text) => PyString::new(py, text).into_any(),
        Message::Binary(bytes) => PyBytes::new(py, bytes).into_any(),
    }
}

/// What becomes of a socket whose application has failed. To write to a client that has gone is no failure.
pub(crate) fn failed(py: Python<'_>, socket: &tayet::WebSocket, error: &PyErr) {
    if !(socket.is_closed() && error.is_instance_of::<WebSocketClosed>(py)) {
        print_exception(py, "the application failed with a WebSocket", error);
    }
    socket.close(CloseCode::INTERNAL_ERROR, "the application failed");
}

fn message_callback<'py>(
    py: Python<'py>,
    callbacks: &Mutex<Option<Callbacks>>,
) -> Option<(Bound<'py, WebSocket>, Bound<'py, PyAny>)> {
    let callbacks = callbacks.lock().unwrap_or_else(PoisonError::into_inner);
    let Callbacks { socket, on_message, .. } = callbacks.as_ref()?;
    Some((socket.bind(py).clone(), on_message.bind(py).clone()))
}
