//! Answers that are streams of server-sent events.

use std::fmt;
use std::time::Duration;

use tayet_engine::{Event, EventStream, Replay};

use crate::{IntoResponse, Request, Response};

/// A stream of server-sent events, as an answer.
///
/// A client that has gone is noticed, since its loop sends a comment now and then
/// ([`Limits::heartbeat_interval_ms`](crate::Limits::heartbeat_interval_ms)).
///
/// # Examples
///
/// ```
/// use tayet::{Event, Path, Router, Sse};
///
/// fn count() -> Sse {
///     Sse::from_iter((1..=3).map(|number| Event::data(number.to_string())))
/// }
///
/// fn prices(Path(good): Path<String>) -> Sse {
///     Sse::topic(format!("price/{good}"))
/// }
///
/// let app: Router = Router::new().get("/count", count).get("/prices/{good}", prices);
/// ```
#[must_use = "a stream is an answer, to be returned"]
pub struct Sse {
    source: Source,
    retry: Option<Duration>,
}

enum Source {
    Topic { name: String, replay: Replay },
    Open(Open),
}

type Open = Box<dyn FnOnce(EventStream, &Request) + Send>;

impl Sse {
    /// What is published to a topic. A client that comes back with a `Last-Event-ID` gets what it has missed first, as far as
    /// that is kept ([`Topics::keep`](crate::Topics::keep)); one that is new gets the retained value. Costs no thread.
    pub fn topic(name: impl Into<String>) -> Self {
        Self::new(Source::Topic { name: name.into(), replay: Replay::Retained })
    }

    /// The events of an iterator, which may block before each; the stream ends with it. Holds a thread for as long.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no collection: the iterator is run later, on a worker"
    )]
    pub fn from_iter<I>(events: I) -> Self
    where
        I: IntoIterator<Item = Event>,
        I::IntoIter: Send + 'static,
    {
        let events = events.into_iter();
        Self::open(move |stream, _| {
            for event in events {
                if stream.send(&event).is_err() {
                    return;
                }
            }
            stream.close();
        })
    }

    /// Hands the stream to `open`, which may keep it, subscribe it to topics, or send on it for as long as it likes.
    pub fn open(open: impl FnOnce(EventStream, &Request) + Send + 'static) -> Self {
        Self::new(Source::Open(Box::new(open)))
    }

    /// Says how long a client is to wait before it comes back.
    pub fn retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Says what of a topic's past a new client gets.
    pub fn replay(mut self, wanted: Replay) -> Self {
        if let Source::Topic { replay, .. } = &mut self.source {
            *replay = wanted;
        }
        self
    }

    fn new(source: Source) -> Self {
        Self { source, retry: None }
    }
}

impl IntoResponse for Sse {
    fn into_response(self) -> Response {
        let Self { source, retry } = self;
        Response::events(move |stream, request| {
            if let Some(retry) = retry
                && stream.send(&Event::default().retry(retry)).is_err()
            {
                return;
            }
            match source {
                Source::Open(open) => open(stream, request),
                Source::Topic { name, replay } => subscribe(&stream, request, &name, replay),
            }
        })
    }
}

impl fmt::Debug for Sse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Topic { name, .. } => name,
            Source::Open(_) => "(a function)",
        };
        f.debug_struct("Sse").field("source", &source).field("retry", &self.retry).finish()
    }
}

fn subscribe(stream: &EventStream, request: &Request, topic: &str, replay: Replay) {
    let last_id = request.header("last-event-id").and_then(|id| id.parse().ok());
    if let Err(error) = stream.subscribe(topic, last_id.map_or(replay, Replay::After)) {
        tracing::warn!(%error, topic, "a stream could not join its topic");
        stream.close();
    }
}
