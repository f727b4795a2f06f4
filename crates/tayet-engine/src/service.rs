//! What the engine serves: a finder of routes and the routes it finds.

use tayet_http1::Head;

use crate::{Request, Response};

/// An application, as the engine sees it.
pub trait Service: Send + Sync + 'static {
    /// Every route, in the order of its [`RouteId`]; read once, when the server starts.
    fn routes(&self) -> Vec<Route>;

    /// Finds the route of a request, and where in its path the route's parameters lie: `captures`, which come empty. Runs on a
    /// loop's thread for every request: it must be quick and may not block.
    fn find(&self, head: &Head, captures: &mut Captures) -> RouteId;

    /// Answers a request. It may block; a panic becomes a 500.
    fn call(&self, request: &mut Request) -> Response;

    /// The same in the empty `place` where the engine wants the answer: one that is made there need not be copied.
    fn answer<'p>(&self, request: &mut Request, place: &'p mut Option<Response>) -> &'p mut Response {
        place.insert(self.call(request))
    }
}

/// A place in [`Service::routes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteId(pub u32);

/// What the engine must know of a route.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Its name in metrics and logs, such as `GET /users/{id}`.
    pub label: String,
    /// Where its handler runs, whatever the engine learns of it.
    pub pin: Option<Pin>,
    /// Whether the engine learns for groups of its paths where they run (those that begin with the same two segments), rather
    /// than for the route as a whole: for a handler that is an application of its own.
    pub learns_by_path: bool,
    /// How its handler takes a request's body.
    pub body: BodyUse,
    /// In place of [`Limits::max_body_bytes`](crate::Limits::max_body_bytes).
    pub max_body_bytes: Option<usize>,
    /// Most calls of its handler that run at the same time; others wait, without a thread. It then never runs on a loop.
    pub concurrency_limit: Option<usize>,
    /// Whether its calls take turns at something that one of them has at a time ([`Turn`](crate::Turn)): it is then worth
    /// waking a few workers for them, and no more.
    pub takes_turns: bool,
    /// After this many milliseconds the client gets a 503 in place of the handler's answer. `None` waits for the handler.
    pub timeout_ms: Option<u64>,
}

/// Where a handler runs, by the user's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// On the loop's thread.
    Inline,
    /// On a worker.
    Blocking,
}

/// How a handler takes a request's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyUse {
    /// Called when the whole body is there; a body over the limit is refused before it is read.
    Buffered,
    /// Called when the body is there if it is small
    /// ([`Limits::stream_threshold_bytes`](crate::Limits::stream_threshold_bytes)), else with a body that still arrives.
    #[default]
    Adaptive,
    /// Called as soon as the head is there.
    Streamed,
}

/// A route found for a request.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// The route.
    pub route: RouteId,
    /// Where in the path its parameters lie.
    pub captures: Captures,
}

/// Where in a request's raw path ([`Head::path`]) a route's parameters lie, in the order of the pattern. Holds at most
/// [`Captures::MAX`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Captures {
    spans: [(u32, u32); Captures::MAX],
    len: u8,
}

impl Captures {
    /// Most parameters of one pattern.
    pub const MAX: usize = 8;

    /// Adds the parameter at `start..end` of the path; `false` when there are [`Captures::MAX`] already.
    pub fn push(&mut self, start: usize, end: usize) -> bool {
        let Some(span) = self.spans.get_mut(usize::from(self.len)) else { return false };
        *span = (start as u32, end as u32);
        self.len += 1;
        true
    }

    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u8);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place of parameter `index`.
    pub fn get(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let (start, end) = *self.spans[..self.len()].get(index)?;
        Some(start as usize..end as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_hold_no_more_than_their_limit() {
        let mut captures = Captures::default();
        for n in 0..Captures::MAX {
            assert!(captures.push(n, n + 1));
        }
        assert!(!captures.push(0, 1));
        assert_eq!(captures.get(Captures::MAX - 1), Some(Captures::MAX - 1..Captures::MAX));
        captures.truncate(1);
        assert_eq!(captures.get(1), None);
    }
}
