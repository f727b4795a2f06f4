//! WebSockets, as handlers see them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use tayet_net::PeerAddress;
use tayet_websocket::{CloseCode, CloseFrame, DeflateAgreement, Failure, Message, Text};

use crate::channel::Channel;
use crate::{Replay, Request, TopicError, Topics};

/// What happens on a WebSocket. Calls for one socket come in order and never two at once; those for different sockets run
/// side by side. Each may block: only its own socket waits.
///
/// A closure that takes the socket and a message is a handler, too.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Message, WebSocket, WebSocketHandler};
///
/// struct Echo;
///
/// impl WebSocketHandler for Echo {
///     fn on_message(&self, socket: &WebSocket, message: Message) {
///         // A socket that has closed meanwhile needs no answer.
///         let _ = socket.send(message);
///     }
/// }
/// ```
pub trait WebSocketHandler: Send + Sync + 'static {
    /// The socket is open; `request` is what asked for it.
    fn on_open(&self, socket: &WebSocket, request: &Request) {
        let _ = (socket, request);
    }

    /// A message has come.
    fn on_message(&self, socket: &WebSocket, message: Message);

    /// All that had to wait has been sent ([`WebSocket::buffered_amount`] is 0 again).
    fn on_drained(&self, socket: &WebSocket) {
        let _ = socket;
    }

    /// Something went wrong; [`WebSocketHandler::on_close`] follows.
    fn on_error(&self, socket: &WebSocket, error: WebSocketError) {
        let _ = (socket, error);
    }

    /// The socket is closed. Always the last call, and always made.
    fn on_close(&self, socket: &WebSocket, closed: &Closed) {
        let _ = (socket, closed);
    }
}

impl<F> WebSocketHandler for F
where
    F: Fn(&WebSocket, Message) + Send + Sync + 'static,
{
    fn on_message(&self, socket: &WebSocket, message: Message) {
        self(socket, message);
    }
}

/// How a socket ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    frame: Option<CloseFrame>,
    was_clean: bool,
}

impl Closed {
    /// The connection ended without a goodbye.
    pub(crate) fn abnormally() -> Self {
        Self { frame: None, was_clean: false }
    }

    /// The peer said goodbye, with a code or without.
    pub(crate) fn by_peer(frame: Option<CloseFrame>) -> Self {
        Self { frame, was_clean: true }
    }

    /// The peer was told to go.
    pub(crate) fn with_failure(frame: CloseFrame) -> Self {
        Self { frame: Some(frame), was_clean: false }
    }

    /// The close code: what the peer said, or was told when it broke the protocol; else 1005 (a goodbye without a code) or
    /// 1006 (none at all), as RFC 6455 section 7.1.5 has it.
    pub fn code(&self) -> u16 {
        match &self.frame {
            Some(frame) => frame.code().get(),
            None if self.was_clean => 1005,
            None => 1006,
        }
    }

    /// What was said beside the code.
    pub fn reason(&self) -> &str {
        self.frame.as_ref().map_or("", |frame| frame.reason().as_str())
    }

    /// Whether both ends said goodbye.
    pub fn was_clean(&self) -> bool {
        self.was_clean
    }
}

/// What goes wrong on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketError {
    /// The peer broke the protocol, or a limit; it was told with a close code.
    Protocol(Failure),
    /// The peer answered no ping.
    PingTimeout,
    /// The peer took nothing of what was sent to it.
    WriteStall,
    /// More waited to be sent than may.
    QueueFull,
    /// The connection broke, or ended without a goodbye.
    Disconnected,
    /// A handler panicked.
    Panicked,
}

impl fmt::Display for WebSocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(failure) => write!(f, "the peer's fault: {failure}"),
            Self::PingTimeout => f.write_str("the peer answered no ping"),
            Self::WriteStall => f.write_str("the peer took nothing of what was sent to it"),
            Self::QueueFull => f.write_str("more waited to be sent than may"),
            Self::Disconnected => f.write_str("the connection ended without a close frame"),
            Self::Panicked => f.write_str("a handler panicked"),
        }
    }
}

impl std::error::Error for WebSocketError {}

/// What happens to a message that finds the socket's send queue full
/// ([`Limits::max_send_queue_bytes`](crate::Limits::max_send_queue_bytes)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendPolicy {
    /// The socket is closed: a peer that falls so far behind is better off with a new start.
    #[default]
    Close,
    /// The message is dropped ([`SendError::QueueFull`]).
    Drop,
    /// The sender waits for room, up to [`Limits::write_stall_timeout_ms`](crate::Limits::write_stall_timeout_ms); then the
    /// socket is closed. Publications to topics do not wait for anybody: for them, and in the model
    /// [`ExecutionModel::Inline`](crate::ExecutionModel::Inline), it is as `Close`.
    Block,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The socket is closed, or is about to be.
    Closed,
    /// The send queue is full.
    QueueFull,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the socket is closed",
            Self::QueueFull => "the socket's send queue is full",
        })
    }
}

impl std::error::Error for SendError {}

/// A WebSocket. Cheap to clone; sends from any thread, at any time.
#[derive(Clone)]
pub struct WebSocket {
    channel: Arc<Channel>,
}

impl WebSocket {
    pub(crate) fn new(channel: Arc<Channel>) -> Self {
        Self { channel }
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// [`SendError::Closed`] when the socket is, [`SendError::QueueFull`] by the socket's [`SendPolicy`].
    pub fn send(&self, message: impl Into<Message>) -> Result<(), SendError> {
        self.channel.send(&message.into())
    }

    /// Sends a text message.
    ///
    /// # Errors
    ///
    /// As [`WebSocket::send`].
    pub fn send_text(&self, text: impl Into<Text>) -> Result<(), SendError> {
        self.send(Message::Text(text.into()))
    }

    /// Sends a binary message.
    ///
    /// # Errors
    ///
    /// As [`WebSocket::send`].
    pub fn send_binary(&self, bytes: impl Into<bytes::Bytes>) -> Result<(), SendError> {
        self.send(Message::Binary(bytes.into()))
    }

    /// Sends a ping with up to 125 bytes; what is longer is cut. Pings that keep the connection alive are sent without
    /// asking.
    ///
    /// # Errors
    ///
    /// As [`WebSocket::send`].
    pub fn ping(&self, payload: &[u8]) -> Result<(), SendError> {
        self.channel.ping(&payload[..payload.len().min(MAX_CONTROL_PAYLOAD_BYTES)])
    }

    /// Says goodbye: what waits is sent first, then the close frame. The reason is cut at 123 bytes. Nothing happens if that
    /// was said before.
    pub fn close(&self, code: CloseCode, reason: &str) {
        self.channel.close(Some(&CloseFrame::new(code, reason)));
    }

    /// Has further messages wait until [`WebSocket::resume`], for a handler that gives them to somebody who takes his time.
    /// Those that are on their way to the handler still come. Past
    /// [`Limits::pipeline_buffer_bytes`](crate::Limits::pipeline_buffer_bytes) the peer is not read, so that it cannot send.
    /// The peer's goodbye, or its connection's end, is told behind the messages before it, and so after that, too.
    pub fn pause(&self) {
        self.channel.pause();
    }

    /// Undoes [`WebSocket::pause`].
    pub fn resume(&self) {
        self.channel.resume();
    }

    /// A number that no other socket of this process has or had.
    pub fn id(&self) -> u64 {
        self.channel.id
    }

    /// The peer, or what a trusted proxy says of it.
    pub fn remote_addr(&self) -> PeerAddress {
        self.channel.remote
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        !self.channel.outbox().is_open()
    }

    /// Bytes that wait to be sent: the kernel has not taken them yet.
    pub fn buffered_amount(&self) -> usize {
        self.channel.outbox().pending_bytes()
    }

    /// Keeps a value with the socket.
    ///
    /// # Errors
    ///
    /// Gives the value back if one is there already.
    pub fn set_data<T: Any + Send + Sync>(&self, data: T) -> Result<(), T> {
        let mut data = Some(data);
        self.channel.data.get_or_init(|| Box::new(Box::new(data.take().expect("asked once"))));
        data.map_or(Ok(()), Err)
    }

    /// The value that is kept with the socket, if it is of this type.
    pub fn data<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.channel.data.get()?.downcast_ref()
    }

    /// Joins a topic: what is published to it is sent to this socket, its retained value first.
    ///
    /// # Errors
    ///
    /// As [`TopicError`] has them.
    pub fn subscribe(&self, topic: &str) -> Result<(), TopicError> {
        self.subscribe_with(topic, Replay::Retained)
    }

    /// The same, with another part of the past.
    ///
    /// # Errors
    ///
    /// As [`TopicError`] has them.
    pub fn subscribe_with(&self, topic: &str, replay: Replay) -> Result<(), TopicError> {
        self.channel.subscribe(topic, replay)
    }

    /// Leaves a topic; `false` if it was not in it. A socket that closes leaves all of its topics.
    pub fn unsubscribe(&self, topic: &str) -> bool {
        self.channel.unsubscribe(topic)
    }

    /// The topics that it is in.
    pub fn subscriptions(&self) -> Vec<String> {
        self.channel.subscriptions()
    }

    /// The server's topics.
    pub fn topics(&self) -> &Topics {
        self.channel.topics()
    }
}

/// A control frame's payload (RFC 6455 section 5.5).
const MAX_CONTROL_PAYLOAD_BYTES: usize = 125;

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WebSocket").field(&self.channel).finish()
    }
}

impl PartialEq for WebSocket {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for WebSocket {}

/// What a negotiated WebSocket keeps to, where that is not the server's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebSocketOptions {
    /// What was agreed on compression.
    pub deflate: Option<DeflateAgreement>,
    /// In place of [`Limits::max_message_bytes`](crate::Limits::max_message_bytes).
    pub max_message_bytes: Option<usize>,
    /// In place of [`Limits::max_send_queue_bytes`](crate::Limits::max_send_queue_bytes).
    pub max_send_queue_bytes: Option<usize>,
    /// In place of [`Limits::ping_interval_ms`](crate::Limits::ping_interval_ms).
    pub ping_interval_ms: Option<u64>,
    /// What happens when the send queue is full.
    pub send_policy: SendPolicy,
}
