//! What all threads of an engine share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use crate::channel::ChannelSettings;
use crate::clock::Clock;
use crate::counters::Shard;
use crate::flusher::Flusher;
use crate::home::Home;
use crate::monitor::Monitor;
use crate::pool::Pool;
use crate::route_class::RouteClass;
use crate::route_classes::RouteClasses;
use crate::session::SessionWork;
use crate::sync::{Condvar, Mutex, lock};
use crate::turn::TurnTakers;
use crate::turn_queue::TurnQueue;
use crate::{BodyUse, ExecutionModel, Limits, RouteId, Service, WebSocketOptions};

/// The engine's common ground: set up once, then read by all.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) routes: Box<[RouteState]>,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) execution: ExecutionModel,
    pub(crate) has_proxy_protocol: bool,
    pub(crate) max_connections: usize,
    /// Written for each connection, and so kept away from what is read for each request.
    pub(crate) open_connections: CachePadded<AtomicUsize>,
    pub(crate) pool: Pool,
    pub(crate) monitor: Monitor,
    /// Locked as often as the monitor's alarm is put off.
    pub(crate) flusher: CachePadded<Flusher>,
    pub(crate) shards: Vec<Arc<Shard>>,
    pub(crate) homes: Vec<Arc<Home>>,
    /// Who does the work of sessions, once one has begun.
    pub(crate) session_work: OnceLock<&'static dyn SessionWork>,
    /// What streams of events keep to.
    pub(crate) stream_settings: Arc<ChannelSettings>,
    pub(crate) takeovers: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) is_shutting_down: AtomicBool,
    /// Loops that have not stopped.
    pub(crate) running_loops: Mutex<usize>,
    pub(crate) loop_stopped: Condvar,
}

/// A route, with what its calls have taught.
#[derive(Debug)]
pub(crate) struct RouteState {
    pub(crate) label: String,
    pub(crate) classes: RouteClasses,
    /// The class of what its sessions call.
    pub(crate) messages: RouteClass,
    /// What the WebSocket keeps to that was opened last.
    pub(crate) settings: Mutex<Option<Arc<ChannelSettings>>>,
    pub(crate) body: BodyUse,
    pub(crate) max_body_bytes: usize,
    pub(crate) timeout_ms: Option<u64>,
    /// Whether its calls may have to wait for each other.
    pub(crate) has_bulkhead: bool,
    /// Whether they take turns at something.
    pub(crate) takes_turns: bool,
}

impl Shared {
    /// What a WebSocket of this route with these options keeps to: the sockets of a route mostly share it.
    pub(crate) fn channel_settings(
        &self,
        route: RouteId,
        options: &WebSocketOptions,
    ) -> Arc<ChannelSettings> {
        let settings = ChannelSettings::of_web_socket(&self.limits, options);
        let mut last = lock(&self.routes[route.0 as usize].settings);
        match &*last {
            Some(last) if **last == settings => Arc::clone(last),
            _ => Arc::clone(last.insert(Arc::new(settings))),
        }
    }

    /// Who does the work of sessions.
    ///
    /// # Panics
    ///
    /// When none has begun.
    pub(crate) fn sessions(&self) -> &'static dyn SessionWork {
        self.session_work().expect("a session is begun by an answer that knows")
    }

    /// Who does the work of sessions, if one has begun.
    pub(crate) fn session_work(&self) -> Option<&'static dyn SessionWork> {
        self.session_work.get().copied()
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.is_shutting_down.load(Ordering::Relaxed)
    }
}

impl TurnTakers for Shared {
    fn turns(&self) -> &TurnQueue {
        self.pool.turns()
    }

    fn call_next(&self) {
        self.pool.call_next_in_turn();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use tayet_net::IoDriver;

    use super::*;
    use crate::engine::share;
    use crate::event_loop::Loop;
    use crate::slot::Slot;
    use crate::span::{LINES_BYTES, Span};
    use crate::{Captures, EngineConfig, Head, Request, Response, Route, RouteId};

    struct TwoRoutes;

    impl Service for TwoRoutes {
        fn routes(&self) -> Vec<Route> {
            vec![Route::default(), Route::default()]
        }

        fn find(&self, _: &Head, _: &mut Captures) -> RouteId {
            RouteId(0)
        }

        fn call(&self, _: &mut Request) -> Response {
            Response::new("")
        }
    }

    /// Where a loop writes for its requests.
    fn spans(shared: &Shared, index: usize) -> Vec<Span> {
        let home = &*shared.homes[index];
        let mut spans = vec![Span::of(home), Span::of(&*home.mailbox), shared.monitor.span(index)];
        spans.extend(shared.shards[index].spans());
        spans
    }

    #[test]
    fn threads_lend_their_loops_away_on_lines_of_their_own() {
        let alignments = [align_of::<Slot<Loop>>(), align_of::<Loop>(), align_of::<CachePadded<Mutex<()>>>()];
        assert!(alignments.iter().all(|alignment| *alignment >= LINES_BYTES), "{alignments:?}");
    }

    #[test]
    fn loops_write_to_no_cache_line_of_another() {
        const LOOPS: usize = 4;
        let drivers = IoDriver::Epoll.open(LOOPS).unwrap();
        let shared = share(&EngineConfig::default(), &drivers, Arc::new(TwoRoutes)).unwrap();
        let mut all: Vec<_> = (0..LOOPS)
            .flat_map(|index| spans(&shared, index).into_iter().map(move |span| (span, index)))
            .collect();
        all.extend(drivers.iter().enumerate().map(|(index, driver)| (Span::of(&**driver), index)));
        let written_by_all =
            [Span::of(&shared.open_connections), Span::of(&shared.flusher), shared.monitor.alarm_span()];
        all.extend(written_by_all.into_iter().map(|span| (span, LOOPS)));
        for (span, owner) in &all {
            assert!(span.begins_lines(), "of {owner}: {span:?}");
            let neighbour =
                all.iter().find(|(other, theirs)| theirs != owner && span.shares_lines_with(other));
            assert!(neighbour.is_none(), "of {owner}: {span:?}, beside {neighbour:?}");
        }
    }
}
