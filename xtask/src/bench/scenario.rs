//! What is measured: the work, who does it, and what each is compared with.

use super::contestant::{
    ACTIX, ACTIX_BLOCK, ASTRA, AXUM, AXUM_BLOCK, Contestant, FASTHTTP, FASTWEBSOCKETS, FLOOR, GO, GORILLA,
    HYPER, MAY_MINIHTTP, NGINX, NODE, NODE_CLUSTER, NTEX, SLEEPER, TAYET, TAYET_4_THREADS, TAYET_100_THREADS,
    TAYET_INLINE, TINY_HTTP, TUNGSTENITE, WEBSOCKET_FLOOR,
};
use super::figure::Figure;
use super::websocket_idle::Idle;
use super::wrk::{Load, Shape};

/// How long the handlers of the sleep scenarios sleep. The bare sleeper is told the same.
pub(super) const SLEEP_MS: u32 = 10;

/// What runs only when `--million` asks for it.
pub(super) const MILLION: &str = "websockets-million";
const ECHO: &str = "/ws";
const TOPIC: &str = "/ws/topic/bench";

/// Some work and those who do it, in the order in which they take turns.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) path: &'static str,
    pub(super) work: Work,
    pub(super) entries: Vec<Entry>,
}

/// How the work is put to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// As fast as wrk can.
    Load(Load),
    /// A paced client on the path, while wrk holds so many connections in handlers that sleep.
    Mixed { sleepers: u32 },
    /// Keep-alive connections with one request each, alone and beside idle ones.
    Fairness,
    /// Idle connections, and what they take.
    Memory,
    /// A message in flight on each WebSocket, there and back.
    WebSocketEcho { sockets: u32 },
    /// A message from one WebSocket to all.
    WebSocketFanOut { sockets: u32 },
    /// WebSockets that are open.
    WebSocketIdle(Idle),
    /// A few requests under callgrind.
    Instructions,
}

/// A contestant in a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    /// The key of the entry that its ratios are taken to.
    pub(super) over: Option<&'static str>,
}

const EVERYONE: &[Contestant] = &[
    FLOOR,
    TAYET,
    TAYET_INLINE,
    NTEX,
    MAY_MINIHTTP,
    ACTIX,
    HYPER,
    AXUM,
    NGINX,
    FASTHTTP,
    GO,
    ASTRA,
    TINY_HTTP,
];
const SLEEPERS: &[Contestant] = &[SLEEPER, TAYET, TAYET_100_THREADS, AXUM_BLOCK, ACTIX_BLOCK, GO, ASTRA];
const JSON_SERVERS: &[Contestant] =
    &[FLOOR, TAYET, TAYET_INLINE, NTEX, MAY_MINIHTTP, ACTIX, HYPER, AXUM, FASTHTTP, GO, ASTRA, TINY_HTTP];

const ECHOING: &[Contestant] = &[
    WEBSOCKET_FLOOR,
    TAYET,
    TAYET_INLINE,
    TUNGSTENITE,
    FASTWEBSOCKETS,
    NTEX,
    ACTIX,
    AXUM,
    GORILLA,
    NODE_CLUSTER,
];
// The processes of a Node cluster share no topics, so one process serves them.
const PUBLISHING: &[Contestant] =
    &[WEBSOCKET_FLOOR, TAYET, TAYET_INLINE, TUNGSTENITE, FASTWEBSOCKETS, NTEX, ACTIX, AXUM, GORILLA, NODE];
/// The peers that have permessage-deflate.
const DEFLATING: &[Contestant] = &[TAYET, TAYET_INLINE, GORILLA, NODE];

/// Every scenario, in the order of the report.
pub(super) fn all() -> Vec<Scenario> {
    let mut scenarios = vec![
        load("hello-64", "Hello, 64 connections", "/", kept_alive(64), beside(EVERYONE)),
        load("hello-512", "Hello, 512 connections", "/", kept_alive(512), beside(EVERYONE)),
        load(
            "pipelined",
            "Hello, 64 connections, 16 requests pipelined",
            "/",
            Load { connections: 64, shape: Shape::Pipelined(16) },
            beside(EVERYONE),
        ),
        load(
            "short",
            "Hello, 64 connections, each closed after 10 requests in the mean",
            "/",
            Load { connections: 64, shape: Shape::Closing(10) },
            beside(EVERYONE),
        ),
        load("json", "JSON, 50 items, 64 connections", "/json/50?m=3", kept_alive(64), beside(JSON_SERVERS)),
        load("dispatched", "Hello through the pool, 64 connections", "/", kept_alive(64), dispatched()),
    ];
    scenarios.extend([
        load("sleep-10", "10 ms sleep, 10 connections", "/sleep/10", kept_alive(10), beside(SLEEPERS)),
        load("sleep-50", "10 ms sleep, 50 connections", "/sleep/10", kept_alive(50), beside(SLEEPERS)),
        load("sleep-100", "10 ms sleep, 100 connections", "/sleep/10", kept_alive(100), beside(SLEEPERS)),
        Scenario {
            name: "mixed",
            title: "Hello at a steady 2,000 requests/s, while 64 connections sleep 100 ms a request",
            path: "/",
            work: Work::Mixed { sleepers: 64 },
            entries: alone(&[TAYET, TAYET_100_THREADS, AXUM, ACTIX, HYPER, GO, ASTRA, TINY_HTTP]),
        },
        Scenario {
            name: "fairness",
            title: "64 keep-alive connections with one request each, at once",
            path: "/",
            work: Work::Fairness,
            entries: alone(EVERYONE),
        },
        Scenario {
            name: "memory",
            title: "Idle keep-alive connections",
            path: "/",
            work: Work::Memory,
            entries: alone(EVERYONE),
        },
        Scenario {
            name: "instructions",
            title: "Hello, 64 connections: instructions in user space, counted by callgrind",
            path: "/",
            work: Work::Instructions,
            entries: beside(&[FLOOR, TAYET, TAYET_INLINE, TAYET_4_THREADS, MAY_MINIHTTP, ACTIX, HYPER, AXUM]),
        },
    ]);
    scenarios.extend(websockets());
    scenarios
}

fn websockets() -> [Scenario; 6] {
    let echo = |name, title, sockets| {
        let work = Work::WebSocketEcho { sockets };
        Scenario { name, title, path: ECHO, work, entries: beside(ECHOING) }
    };
    let idle = |name, title, path, work, contestants| {
        let work = Work::WebSocketIdle(work);
        Scenario { name, title, path, work, entries: alone(contestants) }
    };
    [
        echo("websockets-echo-64", "WebSocket echo, 64 bytes, 64 sockets", 64),
        echo("websockets-echo-512", "WebSocket echo, 64 bytes, 512 sockets", 512),
        Scenario {
            name: "websockets-fanout",
            title: "128 bytes published to 10,000 WebSockets, again when all have them",
            path: TOPIC,
            work: Work::WebSocketFanOut { sockets: 10_000 },
            entries: beside(PUBLISHING),
        },
        idle(
            "websockets-idle",
            "Idle WebSockets, pinged by servers that do so, then published to",
            TOPIC,
            Idle { sockets: 18_000, deflate: false },
            PUBLISHING,
        ),
        idle(
            "websockets-deflate",
            "Idle WebSockets that have exchanged 2,000 bytes with permessage-deflate",
            ECHO,
            // As many as a server with a window for each socket can hold in 2 GB.
            Idle { sockets: 5_000, deflate: true },
            DEFLATING,
        ),
        idle(
            MILLION,
            "A million idle WebSockets, pinged, then published to",
            TOPIC,
            Idle { sockets: 1_000_000, deflate: false },
            &[TAYET],
        ),
    ]
}

/// Who is called `key`.
pub(super) fn contestant(key: &str) -> Option<Contestant> {
    let entries = all().into_iter().flat_map(|scenario| scenario.entries);
    entries.map(|entry| entry.contestant).find(|contestant| contestant.key == key)
}

impl Scenario {
    /// How many turns each entry takes, of `rounds` for what is noisy; what is counted is the same every time.
    pub(super) fn rounds(&self, rounds: u32) -> u32 {
        if self.work == Work::Instructions || self.name == MILLION { 1 } else { rounds }
    }

    /// Whether the load generator for WebSockets is needed.
    pub(super) fn is_websocket(&self) -> bool {
        matches!(
            self.work,
            Work::WebSocketEcho { .. } | Work::WebSocketFanOut { .. } | Work::WebSocketIdle(_)
        )
    }

    /// What the system calls of the work are divided by, if they are counted too.
    pub(super) fn syscalls_figure(&self) -> Option<Figure> {
        match self.work {
            Work::Load(_) => Some(Figure::SyscallsPerRequest),
            Work::WebSocketEcho { .. } => Some(Figure::SyscallsPerMessage),
            _ => None,
        }
    }

    /// The most requests a second that any server can answer, when the work's nature limits them.
    pub(super) fn bound_requests_per_second(&self) -> Option<f64> {
        match self.work {
            Work::Load(load) if self.path == "/sleep/10" => {
                Some(f64::from(load.connections) * 1000.0 / f64::from(SLEEP_MS))
            }
            _ => None,
        }
    }
}

fn load(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    load: Load,
    entries: Vec<Entry>,
) -> Scenario {
    Scenario { name, title, path, work: Work::Load(load), entries }
}

const fn kept_alive(connections: u32) -> Load {
    Load { connections, shape: Shape::KeptAlive }
}

/// All compared with the first.
fn beside(contestants: &[Contestant]) -> Vec<Entry> {
    let floor = contestants[0].key;
    let over = |contestant: &Contestant| (contestant.key != floor).then_some(floor);
    contestants.iter().map(|contestant| Entry { contestant: *contestant, over: over(contestant) }).collect()
}

fn alone(contestants: &[Contestant]) -> Vec<Entry> {
    contestants.iter().map(|contestant| Entry { contestant: *contestant, over: None }).collect()
}

/// Each compared with the same server's handler where it need not be dispatched.
fn dispatched() -> Vec<Entry> {
    [
        (TAYET_INLINE, None),
        (TAYET_4_THREADS, Some(TAYET_INLINE.key)),
        (AXUM, None),
        (AXUM_BLOCK, Some(AXUM.key)),
        (ACTIX, None),
        (ACTIX_BLOCK, Some(ACTIX.key)),
        (ASTRA, None),
    ]
    .map(|(contestant, over)| Entry { contestant, over })
    .to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_so_are_keys_within_a_scenario() {
        let scenarios = all();
        let names: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len());
        for scenario in scenarios {
            let keys: BTreeSet<_> = scenario.entries.iter().map(|entry| entry.contestant.key).collect();
            assert_eq!(keys.len(), scenario.entries.len(), "{}", scenario.name);
        }
    }

    #[test]
    fn whom_an_entry_is_compared_with_takes_part_too() {
        for scenario in all() {
            let keys: Vec<_> = scenario.entries.iter().map(|entry| entry.contestant.key).collect();
            for over in scenario.entries.iter().filter_map(|entry| entry.over) {
                assert!(keys.contains(&over), "{over} is missing in {}", scenario.name);
            }
        }
    }

    #[test]
    fn only_sleeping_is_bounded_by_the_connections() {
        let bounds: Vec<_> = all()
            .iter()
            .filter_map(|scenario| Some((scenario.name, scenario.bound_requests_per_second()?)))
            .collect();
        assert_eq!(bounds, [("sleep-10", 1_000.0), ("sleep-50", 5_000.0), ("sleep-100", 10_000.0)]);
    }
}
