//! A message for all of a topic, framed once.

use std::sync::OnceLock;

use bytes::Bytes;
use tayet_websocket::{Codec, DeflateAgreement, Message, SharedMessage};

use crate::event_stream::Event;

/// What is published to a topic: a message, and what streams of events say beside it.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Publication, Topics};
///
/// let topics = Topics::default();
/// topics.publish("room/1", "hello").unwrap();
/// topics.publish("price/tea", Publication::new("3.20").retained().event("price")).unwrap();
/// ```
#[derive(Debug)]
pub struct Publication {
    message: SharedMessage,
    event: Option<String>,
    id: u64,
    is_retained: bool,
    framed_event: OnceLock<Bytes>,
    framed_chunk: OnceLock<Bytes>,
}

impl Publication {
    /// A message for all that are in the topic.
    pub fn new(message: impl Into<Message>) -> Self {
        Self {
            message: SharedMessage::new(message.into()),
            event: None,
            id: 0,
            is_retained: false,
            framed_event: OnceLock::new(),
            framed_chunk: OnceLock::new(),
        }
    }

    /// Kept as the topic's last value: whoever joins later gets it first.
    #[must_use]
    pub fn retained(mut self) -> Self {
        self.is_retained = true;
        self
    }

    /// Gives it a type for streams of events (`event:`); WebSockets do not see it.
    #[must_use]
    pub fn event(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// The message.
    pub fn message(&self) -> &Message {
        self.message.message()
    }

    /// Its number, once it is published: later publications of a topic have higher ones, also after the server has
    /// been started anew.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether it is its topic's last value.
    pub fn is_retained(&self) -> bool {
        self.is_retained
    }

    pub(crate) fn number(&mut self, id: u64) {
        self.id = id;
    }

    pub(crate) fn len(&self) -> usize {
        self.message().len()
    }

    pub(crate) fn web_socket_frame(&self, deflate: Option<DeflateAgreement>, codec: &mut Codec) -> Bytes {
        self.message.frame(deflate, codec)
    }

    /// As an event of a stream (see [`Event`]).
    pub(crate) fn event_bytes(&self) -> Bytes {
        self.framed_event
            .get_or_init(|| {
                let mut event = Event::data(String::from_utf8_lossy(self.message().as_bytes()));
                if let Some(name) = &self.event {
                    event = event.name(name);
                }
                Bytes::from(event.id(self.id.to_string()).encode())
            })
            .clone()
    }

    /// As an event in a chunk of its own.
    pub(crate) fn event_chunk(&self) -> Bytes {
        self.framed_chunk
            .get_or_init(|| {
                let mut chunk = Vec::new();
                tayet_http1::encode_chunk(&mut chunk, &self.event_bytes());
                Bytes::from(chunk)
            })
            .clone()
    }
}

impl<M: Into<Message>> From<M> for Publication {
    fn from(message: M) -> Self {
        Self::new(message)
    }
}
