//! `environ["tayet.websocket"]`.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyString;
use tayet::{
    CloseCode, Closed, HeaderName, HeaderValue, Message, Origins, Response, SendError, SendPolicy,
    StatusCode, TopicError, WebSocketConfig, WebSocketUpgrade, header,
};

use crate::inbox::{Inbox, Received};
use crate::listener::{Callbacks, Ear, Listener, Opening, failed, to_python};
use crate::response_head::parse_fields;
use crate::start_response::Answer;

create_exception!(
    tayet,
    WebSocketClosed,
    PyConnectionError,
    "The other end of a WebSocket is no longer there, or never was."
);

/// A request for a WebSocket, and the socket once it is accepted: `environ["tayet.websocket"]`.
///
/// Everything may be called from any thread. What waits waits without the GIL.
#[pyclass(frozen, module = "tayet")]
pub(crate) struct WebSocket {
    /// Until it is accepted, or refused.
    asked: Mutex<Option<Asked>>,
    /// Once it is open.
    socket: Arc<OnceLock<tayet::WebSocket>>,
    /// Where the application receives by itself.
    inbox: OnceLock<Arc<Inbox>>,
    protocol: OnceLock<String>,
    /// The answer where the request was no good one.
    refusal: Mutex<Option<Response>>,
    closed: OnceLock<Closed>,
}

/// What it takes to accept.
struct Asked {
    upgrade: Result<WebSocketUpgrade, Response>,
    answer: Py<Answer>,
}

impl WebSocket {
    /// For a request that asks for a WebSocket; `upgrade` is an answer where it asks wrongly.
    pub(crate) fn new(upgrade: Result<WebSocketUpgrade, Response>, answer: Py<Answer>) -> Self {
        Self {
            asked: Mutex::new(Some(Asked { upgrade, answer })),
            socket: Arc::default(),
            inbox: OnceLock::new(),
            protocol: OnceLock::new(),
            refusal: Mutex::default(),
            closed: OnceLock::new(),
        }
    }

    /// How it ended, for later questions.
    pub(crate) fn note_closed(&self, closed: &Closed) {
        let _ = self.closed.set(closed.clone());
    }

    /// The answer by which the request was refused, if it was.
    pub(crate) fn take_refusal(&self) -> Option<Response> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The call of the application is over, by `error` or as it should. A socket whose messages it received is closed with
    /// that.
    pub(crate) fn call_ended(&self, py: Python<'_>, error: Option<&PyErr>) {
        let Some(socket) = self.socket.get() else { return };
        match error {
            Some(error) => failed(py, socket, error),
            None if self.inbox.get().is_some() => socket.close(CloseCode::NORMAL, ""),
            None => {}
        }
        if let Some(inbox) = self.inbox.get() {
            py.detach(|| inbox.clear(socket));
        }
    }

    fn accepted(&self) -> PyResult<&tayet::WebSocket> {
        self.socket.get().ok_or_else(|| PyRuntimeError::new_err("the WebSocket has not been accepted"))
    }

    fn receive_within(&self, py: Python<'_>, timeout: Option<Duration>) -> PyResult<Received> {
        let socket = self.accepted()?;
        let inbox = self.inbox.get().ok_or_else(|| {
            PyRuntimeError::new_err("the messages of this WebSocket go to its on_message function")
        })?;
        let received = py.detach(|| inbox.receive(socket, timeout));
        if let Received::Closed(closed) = &received {
            self.note_closed(closed);
        }
        Ok(received)
    }

    fn refuse(&self, answer: Response) -> PyErr {
        let message = format!("the request is refused with {}", answer.status());
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        WebSocketClosed::new_err(message)
    }
}

#[pymethods]
impl WebSocket {
    /// Opens the socket.
    #[pyo3(signature = (
        subprotocols=None, *, headers=None, origins=None, compression=true, max_message_bytes=None,
        max_send_queue_bytes=None, ping_interval=None, when_full=None, on_message=None, on_close=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "each is a keyword argument in Python")]
    fn accept(
        this: &Bound<'_, Self>,
        subprotocols: Option<OneOrMore>,
        headers: Option<&Bound<'_, PyAny>>,
        origins: Option<OneOrMore>,
        compression: bool,
        max_message_bytes: Option<usize>,
        max_send_queue_bytes: Option<usize>,
        ping_interval: Option<f64>,
        when_full: Option<&str>,
        on_message: Option<Py<PyAny>>,
        on_close: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if on_close.is_some() && on_message.is_none() {
            return Err(PyTypeError::new_err("on_close goes with on_message"));
        }
        let mut config = WebSocketConfig::new()
            .protocols(subprotocols.map_or_else(Vec::new, OneOrMore::into_vec))
            .origins(parse_origins(origins))
            .send_policy(parse_policy(when_full, on_message.is_some())?);
        if !compression {
            config = config.deflate(None);
        }
        if let Some(bytes) = max_message_bytes {
            config = config.max_message_bytes(bytes);
        }
        if let Some(bytes) = max_send_queue_bytes {
            config = config.max_send_queue_bytes(bytes);
        }
        if let Some(interval) = ping_interval {
            config = config.ping_interval_ms(parse_seconds(interval)?.as_millis() as u64);
        }
        let fields = headers.map(parse_fields).transpose()?.unwrap_or_default();
        let ear = match on_message {
            Some(on_message) => {
                let socket = this.clone().unbind();
                Ear::Callbacks(Mutex::new(Some(Callbacks { socket, on_message, on_close })))
            }
            None => Ear::Inbox(Arc::default()),
        };
        this.get().open(this.py(), config, fields, ear)
    }

    /// The next message: a `str` or `bytes`. Waits for it, `timeout` seconds at most if that is given.
    #[pyo3(signature = (timeout=None))]
    fn receive<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        match self.receive_within(py, timeout.map(parse_seconds).transpose()?)? {
            Received::Message(message) => Ok(to_python(py, &message)),
            Received::Closed(closed) => Err(closed_error(&closed)),
            Received::TimedOut => Err(PyTimeoutError::new_err("no message has come in time")),
        }
    }

    fn __iter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this
    }

    /// The next message; iteration ends when the socket is closed.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match self.receive_within(py, None)? {
            Received::Message(message) => Some(to_python(py, &message)),
            Received::Closed(_) | Received::TimedOut => None,
        })
    }

    /// Sends a message; `False` when it was dropped since the queue was full.
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<bool> {
        let socket = self.accepted()?;
        let message = parse_message(message)?;
        match py.detach(|| socket.send(message)) {
            Ok(()) => Ok(true),
            Err(SendError::QueueFull) if !socket.is_closed() => Ok(false),
            Err(error) => Err(WebSocketClosed::new_err(error.to_string())),
        }
    }

    /// Says goodbye, behind what waits to be sent.
    #[pyo3(signature = (code=1000, reason=""))]
    fn close(&self, py: Python<'_>, code: u16, reason: &str) -> PyResult<()> {
        let code = CloseCode::new(code)
            .ok_or_else(|| PyValueError::new_err(format!("{code} cannot stand in a close frame")))?;
        let socket = self.accepted()?;
        py.detach(|| socket.close(code, reason));
        Ok(())
    }

    /// Joins a topic: what is published to it is sent to this socket.
    fn subscribe(&self, py: Python<'_>, topic: &str) -> PyResult<()> {
        let socket = self.accepted()?;
        py.detach(|| socket.subscribe(topic)).map_err(topic_error)
    }

    /// Leaves a topic; `False` if it was not in it.
    fn unsubscribe(&self, py: Python<'_>, topic: &str) -> PyResult<bool> {
        let socket = self.accepted()?;
        Ok(py.detach(|| socket.unsubscribe(topic)))
    }

    /// The topics that it is in.
    #[getter]
    fn subscriptions(&self) -> PyResult<Vec<String>> {
        Ok(self.accepted()?.subscriptions())
    }

    /// The subprotocol that was agreed on.
    #[getter]
    fn subprotocol(&self) -> Option<&str> {
        self.protocol.get().map(String::as_str)
    }

    /// Bytes that wait to be sent.
    #[getter]
    fn buffered_amount(&self) -> PyResult<usize> {
        Ok(self.accepted()?.buffered_amount())
    }

    /// Whether nothing can be sent any more.
    #[getter]
    fn is_closed(&self) -> bool {
        self.socket.get().is_some_and(tayet::WebSocket::is_closed)
    }

    /// The close code once the application has met the end; 1005 and 1006 stand for none (RFC 6455 section 7.1.5).
    #[getter]
    fn close_code(&self) -> Option<u16> {
        self.closed.get().map(Closed::code)
    }

    /// What was said beside the code.
    #[getter]
    fn close_reason(&self) -> Option<&str> {
        self.closed.get().map(Closed::reason)
    }
}

impl WebSocket {
    /// Answers, and waits until the loop has begun the conversation.
    fn open(
        &self,
        py: Python<'_>,
        config: WebSocketConfig,
        fields: Vec<(HeaderName, HeaderValue)>,
        ear: Ear,
    ) -> PyResult<()> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Asked { upgrade, answer } =
            asked.ok_or_else(|| PyRuntimeError::new_err("accept() has been called before"))?;
        let upgrade = upgrade.map_err(|refusal| self.refuse(refusal))?;
        if let Ear::Inbox(inbox) = &ear {
            let _ = self.inbox.set(Arc::clone(inbox));
        }
        let (opened, is_open) = mpsc::sync_channel(1);
        let opening = Opening { socket: Arc::clone(&self.socket), opened };
        let mut handshake = upgrade.with(config).serve(Listener::new(opening, ear));
        if handshake.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.refuse(handshake));
        }
        let protocol = handshake.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
        if let Some(protocol) = protocol.and_then(|value| value.to_str().ok()) {
            let _ = self.protocol.set(protocol.to_owned());
        }
        for (name, value) in fields {
            handshake.headers_mut().append(name, value);
        }
        answer.get().upgrade(handshake)?;
        // Ends when the answer is thrown away, since the client has gone or has been answered for the application.
        py.detach(move || is_open.recv())
            .map_err(|_| WebSocketClosed::new_err("the client has gone before the WebSocket was open"))
    }
}

/// A `str`, or several.
#[derive(FromPyObject)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(only) => vec![only],
            Self::More(all) => all,
        }
    }
}

/// What Python gives to be sent.
pub(crate) fn parse_message(message: &Bound<'_, PyAny>) -> PyResult<Message> {
    if let Ok(text) = message.cast::<PyString>() {
        return Ok(Message::from(text.to_str()?));
    }
    match message.extract::<PyBackedBytes>() {
        Ok(bytes) => Ok(Message::from(&bytes[..])),
        Err(_) => Err(PyTypeError::new_err(format!("a message is str or bytes, not {}", message.get_type()))),
    }
}

/// What is wrong with a topic is a `ValueError`, unless it is the socket that is closed.
pub(crate) fn topic_error(error: TopicError) -> PyErr {
    match error {
        TopicError::Closed => WebSocketClosed::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

fn closed_error(closed: &Closed) -> PyErr {
    let (code, reason) = (closed.code(), closed.reason());
    let colon = if reason.is_empty() { "" } else { ": " };
    WebSocketClosed::new_err(format!("the WebSocket is closed with {code}{colon}{reason}"))
}

fn parse_origins(origins: Option<OneOrMore>) -> Origins {
    match origins.map(OneOrMore::into_vec) {
        None => Origins::SameHost,
        Some(origins) if origins.iter().any(|origin| origin == "*") => Origins::Any,
        Some(origins) => Origins::list(origins),
    }
}

/// One that receives by itself has a thread to wait with; functions should rather not wait.
fn parse_policy(when_full: Option<&str>, has_functions: bool) -> PyResult<SendPolicy> {
    match when_full {
        None if has_functions => Ok(SendPolicy::Close),
        None | Some("block") => Ok(SendPolicy::Block),
        Some("close") => Ok(SendPolicy::Close),
        Some("drop") => Ok(SendPolicy::Drop),
        Some(other) => {
            Err(PyValueError::new_err(format!("when_full is 'block', 'close' or 'drop', not {other:?}")))
        }
    }
}

fn parse_seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))
}
