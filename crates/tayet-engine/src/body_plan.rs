//! How a request's body is taken: gathered before its handler is called, streamed to it, or refused.

use crate::shared::RouteState;
use crate::{BodyUse, Limits};

/// What is done with a body of which only the head is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyPlan {
    /// It is gathered up to `limit_bytes`; past that it is streamed, if the handler `may_stream`, or refused.
    Gather { limit_bytes: usize, may_stream: bool },
    /// The handler is called at once and reads it as it comes.
    Stream,
    /// It is larger than may be.
    Refuse { max_bytes: u64 },
}

/// What is known of a body when its head is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    /// Its bytes, where they are not chunked.
    pub(crate) length: Option<u64>,
    /// The client sends nothing before it gets a 100.
    pub(crate) awaits_continue: bool,
    /// Bytes that came behind the head.
    pub(crate) at_hand: usize,
}

impl BodyPlan {
    pub(crate) fn choose(announced: Announced, route: &RouteState, limits: &Limits) -> Self {
        let length = announced.length;
        let may_stream = route.body != BodyUse::Buffered;
        let max_bytes = match limits.max_stream_bytes {
            _ if !may_stream => route.max_body_bytes as u64,
            0 => u64::MAX,
            max_stream_bytes => max_stream_bytes,
        };
        if length.is_some_and(|bytes| bytes > max_bytes) {
            return Self::Refuse { max_bytes };
        }
        let threshold_bytes = if may_stream { limits.stream_threshold_bytes } else { usize::MAX };
        let limit_bytes =
            route.max_body_bytes.min(threshold_bytes).min(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        let is_small = length.is_none_or(|bytes| bytes <= limit_bytes as u64);
        let is_at_hand = length.is_some_and(|bytes| bytes <= announced.at_hand as u64);
        // A client that waits for a 100 sends nothing before: the handler's first read is what it waits for.
        let must_stream = announced.awaits_continue && !is_at_hand;
        let streams = match route.body {
            BodyUse::Buffered => must_stream,
            BodyUse::Adaptive => must_stream || !is_small,
            BodyUse::Streamed => !(is_at_hand && is_small),
        };
        if streams { Self::Stream } else { Self::Gather { limit_bytes, may_stream } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route_class::RouteClass;
    use crate::route_classes::RouteClasses;

    const LARGE: u64 = 1 << 30;

    fn plan(body: BodyUse, length: Option<u64>, awaits_continue: bool, at_hand: usize) -> BodyPlan {
        let announced = Announced { length, awaits_continue, at_hand };
        BodyPlan::choose(announced, &route(body), &limits())
    }

    fn limits() -> Limits {
        Limits { stream_threshold_bytes: 100, max_stream_bytes: LARGE, ..Limits::default() }
    }

    fn route(body: BodyUse) -> RouteState {
        RouteState {
            label: String::new(),
            classes: RouteClasses::new(None, false),
            messages: RouteClass::new(None),
            settings: crate::sync::Mutex::new(None),
            body,
            max_body_bytes: 1_000,
            timeout_ms: None,
            has_bulkhead: false,
            takes_turns: false,
        }
    }

    #[test]
    fn what_is_to_be_whole_is_gathered_up_to_its_limit() {
        let gather = BodyPlan::Gather { limit_bytes: 1_000, may_stream: false };
        assert_eq!(plan(BodyUse::Buffered, Some(1_000), false, 0), gather);
        assert_eq!(plan(BodyUse::Buffered, None, false, 0), gather);
        assert_eq!(plan(BodyUse::Buffered, Some(1_001), false, 0), BodyPlan::Refuse { max_bytes: 1_000 });
    }

    #[test]
    fn a_plain_handler_streams_what_is_large() {
        let gather = BodyPlan::Gather { limit_bytes: 100, may_stream: true };
        assert_eq!(plan(BodyUse::Adaptive, Some(100), false, 0), gather);
        assert_eq!(plan(BodyUse::Adaptive, None, false, 0), gather);
        assert_eq!(plan(BodyUse::Adaptive, Some(101), false, 101), BodyPlan::Stream);
    }

    #[test]
    fn what_may_not_be_streamed_is_not_gathered_either() {
        let body = Announced { length: None, awaits_continue: false, at_hand: 0 };
        let limits = Limits { max_stream_bytes: 50, ..limits() };
        let gather = BodyPlan::Gather { limit_bytes: 50, may_stream: true };
        assert_eq!(BodyPlan::choose(body, &route(BodyUse::Adaptive), &limits), gather);
    }

    #[test]
    fn a_streaming_handler_is_spared_the_stream_of_a_small_body_that_is_there() {
        let gather = BodyPlan::Gather { limit_bytes: 100, may_stream: true };
        assert_eq!(plan(BodyUse::Streamed, Some(100), false, 100), gather);
        assert_eq!(plan(BodyUse::Streamed, Some(100), false, 99), BodyPlan::Stream);
        assert_eq!(plan(BodyUse::Streamed, None, false, 99), BodyPlan::Stream);
        assert_eq!(plan(BodyUse::Streamed, Some(LARGE + 1), false, 0), BodyPlan::Refuse { max_bytes: LARGE });
    }

    #[test]
    fn a_client_that_waits_for_a_100_is_streamed_from_unless_its_body_is_there() {
        for body in [BodyUse::Buffered, BodyUse::Adaptive, BodyUse::Streamed] {
            assert_eq!(plan(body, Some(50), true, 0), BodyPlan::Stream);
            assert!(matches!(plan(body, Some(50), true, 50), BodyPlan::Gather { .. }));
        }
    }
}
