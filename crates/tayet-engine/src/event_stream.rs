//! Server-sent events (the HTML standard, section 9.2).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tayet_net::PeerAddress;

use crate::channel::Channel;
use crate::{Replay, SendError, TopicError, Topics};

/// A comment that shows both ends that the stream is alive.
pub(crate) const HEARTBEAT: &[u8] = b":\n\n";

/// One event.
///
/// # Examples
///
/// ```
/// use tayet_engine::Event;
///
/// let event = Event::data("two\nlines").name("note").id("7");
/// assert_eq!(event.encode(), b"event: note\nid: 7\ndata: two\ndata: lines\n\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    name: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
    comment: Option<String>,
    data: Option<String>,
}

impl Event {
    /// An event that carries this.
    pub fn data(data: impl Into<String>) -> Self {
        Self { data: Some(data.into()), ..Self::default() }
    }

    /// A comment, which clients pass over.
    pub fn comment(comment: impl Into<String>) -> Self {
        Self { comment: Some(comment.into()), ..Self::default() }
    }

    /// Gives it a type; without one it is a `message`. Line ends are left out.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(one_line(name.as_ref()));
        self
    }

    /// Gives it an id, which a client that comes back says in `Last-Event-ID`. Line ends and NUL are left out.
    #[must_use]
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.id = Some(one_line(id.as_ref()).replace('\0', ""));
        self
    }

    /// Says how long the client is to wait before it comes back, in whole milliseconds.
    #[must_use]
    pub fn retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// As it is sent, with the empty line at its end.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = String::new();
        for line in self.comment.iter().flat_map(|comment| lines(comment)) {
            out.push_str(&format!(": {line}\n"));
        }
        let retry = self.retry.map(|retry| retry.as_millis().to_string());
        for (field, value) in [("event", &self.name), ("id", &self.id), ("retry", &retry)] {
            if let Some(value) = value {
                out.push_str(&format!("{field}: {value}\n"));
            }
        }
        for line in self.data.iter().flat_map(|data| lines(data)) {
            out.push_str(&format!("data: {line}\n"));
        }
        out.push('\n');
        out.into_bytes()
    }
}

/// The lines of a text, whichever of the three line ends it has.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        lines.push(&rest[..at]);
        rest = rest[at..].strip_prefix("\r\n").unwrap_or(&rest[at + 1..]);
    }
    lines.push(rest);
    lines
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], "")
}

/// A stream of events to one client. Cheap to clone; sends from any thread.
///
/// Its loop sends a comment every [`Limits::heartbeat_interval_ms`](crate::Limits::heartbeat_interval_ms), so that a
/// client that has gone is noticed.
#[derive(Clone)]
pub struct EventStream {
    channel: Arc<Channel>,
}

impl EventStream {
    pub(crate) fn new(channel: Arc<Channel>) -> Self {
        Self { channel }
    }

    /// Sends an event. A client that takes its time makes this wait, up to
    /// [`Limits::write_stall_timeout_ms`](crate::Limits::write_stall_timeout_ms).
    ///
    /// # Errors
    ///
    /// [`SendError::Closed`] when the client has gone, [`SendError::QueueFull`] when it takes nothing any more.
    pub fn send(&self, event: &Event) -> Result<(), SendError> {
        self.channel.send_framed(&event.encode())
    }

    /// Sends what is published to a topic from now on, after what `replay` asks for.
    ///
    /// # Errors
    ///
    /// As [`TopicError`] has them.
    pub fn subscribe(&self, topic: &str, replay: Replay) -> Result<(), TopicError> {
        self.channel.subscribe(topic, replay)
    }

    /// Ends the stream. Clients come back by themselves unless they were told not to.
    pub fn close(&self) {
        self.channel.close(None);
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        !self.channel.outbox().is_open()
    }

    /// Bytes that the kernel has not taken yet.
    pub fn buffered_amount(&self) -> usize {
        self.channel.outbox().pending_bytes()
    }

    /// The client, or what a trusted proxy says of it.
    pub fn remote_addr(&self) -> PeerAddress {
        self.channel.remote
    }

    /// The server's topics.
    pub fn topics(&self) -> &Topics {
        self.channel.topics()
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventStream").field(&self.channel).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(event: &Event) -> String {
        String::from_utf8(event.encode()).unwrap()
    }

    #[test]
    fn data_of_any_line_ends_is_cut_into_lines() {
        assert_eq!(encoded(&Event::data("a\rb\r\nc\n")), "data: a\ndata: b\ndata: c\ndata: \n\n");
        assert_eq!(encoded(&Event::data("")), "data: \n\n");
    }

    #[test]
    fn fields_cannot_smuggle_others_in() {
        let event = Event::data("x").name("a\ndata: y").id("1\r\n\0z");
        assert_eq!(encoded(&event), "event: adata: y\nid: 1z\ndata: x\n\n");
    }

    #[test]
    fn a_comment_and_a_retry_need_no_data() {
        assert_eq!(encoded(&Event::comment("one\ntwo")), ": one\n: two\n\n");
        let event = Event::default().retry(Duration::from_secs(3));
        assert_eq!(encoded(&event), "retry: 3000\n\n");
    }
}
