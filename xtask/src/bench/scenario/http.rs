//! Plain requests: small answers, sleeping handlers, idle connections.

use super::{Entry, Family, Scenario, Work, alone, beside, kept_alive};
use crate::bench::contestant::{
    ACTIX, ASTRA, AXUM, Contestant, FASTHTTP, FLOOR, GO, HYPER, MAY_MINIHTTP, NGINX, NTEX, Program, TAYET,
    TAYET_INLINE, TINY_HTTP, dispatching, peer, rust, tayet,
};
use crate::bench::wrk::{Load, Shape};

pub(in crate::bench) const SLEEPER: Contestant =
    peer("sleeper", "bare thread per connection", Program::Floor("floor-sleeper"));
pub(in crate::bench) const FLOOR_PARSING: Contestant =
    peer("floor-parsing", "bare epoll loop, with httparse", Program::Floor("floor-parsing"));
/// The same with so many loops, which share nothing that is written.
pub(in crate::bench) const FLOOR_1_LOOP: Contestant = Contestant {
    arguments: &["1"],
    ..peer("floor-1-loop", "bare, with httparse, 1 loop", Program::Floor("floor-parsing"))
};
pub(in crate::bench) const FLOOR_8_LOOPS: Contestant = Contestant {
    arguments: &["8"],
    ..peer("floor-8-loops", "bare, with httparse, 8 loops", Program::Floor("floor-parsing"))
};
/// A program of one page, as small as its peers; the arena has everything that Tayet can do.
pub(in crate::bench) const TAYET_HELLO: Contestant =
    peer("tayet-hello", "Tayet, example 01_hello", Program::Example { package: "tayet", name: "01_hello" });
pub(in crate::bench) const TAYET_4_THREADS: Contestant =
    tayet("tayet-4-threads", "Tayet, pool of 4 threads", &["--execution", "thread-pool:4"]);
pub(in crate::bench) const TAYET_100_THREADS: Contestant =
    tayet("tayet-100-threads", "Tayet, pool of 100 threads", &["--execution", "thread-pool:100"]);
pub(in crate::bench) const TAYET_1_LOOP: Contestant =
    tayet("tayet-1-loop", "Tayet, 1 loop", &["--loops", "1"]);
pub(in crate::bench) const TAYET_8_LOOPS: Contestant =
    tayet("tayet-8-loops", "Tayet, 8 loops", &["--loops", "8"]);
const TAYET_2_LOOPS: Contestant = tayet("tayet-2-loops", "Tayet, 2 loops", &["--loops", "2"]);
pub(in crate::bench) const ACTIX_BLOCK: Contestant =
    dispatching("actix-block", "actix-web, web::block", rust("peer-actix", "actix-web"));
pub(in crate::bench) const AXUM_BLOCK: Contestant =
    dispatching("axum-block", "axum, spawn_blocking", rust("peer-axum", "axum"));

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
/// Those that hold thousands of connections without a thread for each.
const MANY: &[Contestant] = &[FLOOR, TAYET, NTEX, MAY_MINIHTTP, ACTIX, HYPER, NGINX, FASTHTTP];
const SLEEPERS: &[Contestant] = &[SLEEPER, TAYET, TAYET_100_THREADS, AXUM_BLOCK, ACTIX_BLOCK, GO, ASTRA];
const JSON_SERVERS: &[Contestant] =
    &[FLOOR, TAYET, TAYET_INLINE, NTEX, MAY_MINIHTTP, ACTIX, HYPER, AXUM, FASTHTTP, GO, ASTRA, TINY_HTTP];

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = loads();
    scenarios.extend([
        Scenario {
            name: "mixed",
            title: "Hello at a steady 2,000 requests/s, while 64 connections sleep 100 ms a request",
            family: Family::Http,
            path: "/",
            work: Work::Mixed { sleepers: 64 },
            entries: alone(&[TAYET, TAYET_100_THREADS, AXUM, ACTIX, HYPER, GO, ASTRA, TINY_HTTP]),
        },
        paced("paced-512", "Hello at a steady 5,000 requests/s, over 512 connections in turn", 512),
        paced("paced-10000", "Hello at a steady 5,000 requests/s, over 10,000 connections in turn", 10_000),
        Scenario {
            name: "fairness",
            title: "64 keep-alive connections with one request each, at once",
            family: Family::Http,
            path: "/",
            work: Work::Fairness,
            entries: alone(EVERYONE),
        },
        Scenario {
            name: "memory",
            title: "Idle keep-alive connections",
            family: Family::Http,
            path: "/",
            work: Work::Memory,
            entries: alone(EVERYONE),
        },
        Scenario {
            name: "instructions",
            title: "Hello, 64 connections: instructions in user space, counted by callgrind",
            family: Family::Http,
            path: "/",
            work: Work::Instructions,
            entries: beside(&[FLOOR, TAYET, TAYET_INLINE, TAYET_4_THREADS, MAY_MINIHTTP, ACTIX, HYPER, AXUM]),
        },
    ]);
    scenarios
}

fn loads() -> Vec<Scenario> {
    vec![
        load("hello-64", "Hello, 64 connections", "/", kept_alive(64), greeters(EVERYONE)),
        load("hello-512", "Hello, 512 connections", "/", kept_alive(512), greeters(EVERYONE)),
        load("hello-4096", "Hello, 4,096 connections", "/", kept_alive(4_096), greeters(MANY)),
        load(
            "pipelined",
            "Hello, 64 connections, 16 requests pipelined",
            "/",
            Load { shape: Shape::Pipelined(16), ..kept_alive(64) },
            greeters(EVERYONE),
        ),
        load(
            "short",
            "Hello, 64 connections, each closed after 10 requests in the mean",
            "/",
            Load { shape: Shape::Closing(10), ..kept_alive(64) },
            beside(EVERYONE),
        ),
        load("json", "JSON, 50 items, 64 connections", "/json/50?m=3", kept_alive(64), beside(JSON_SERVERS)),
        load(
            "loops",
            "Hello, 64 connections, 16 requests pipelined, by the number of loops",
            "/",
            Load { shape: Shape::Pipelined(16), ..kept_alive(64) },
            by_loops(),
        ),
        load("dispatched", "Hello through the pool, 64 connections", "/", kept_alive(64), dispatched()),
        load("sleep-10", "10 ms sleep, 10 connections", "/sleep/10", kept_alive(10), beside(SLEEPERS)),
        load("sleep-50", "10 ms sleep, 50 connections", "/sleep/10", kept_alive(50), beside(SLEEPERS)),
        load("sleep-100", "10 ms sleep, 100 connections", "/sleep/10", kept_alive(100), beside(SLEEPERS)),
    ]
}

fn load(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    load: Load,
    entries: Vec<Entry>,
) -> Scenario {
    Scenario { name, title, family: Family::Http, path, work: Work::Load(load), entries }
}

fn paced(name: &'static str, title: &'static str, connections: u32) -> Scenario {
    let work = Work::Paced { connections };
    Scenario {
        name,
        title,
        family: Family::Http,
        path: "/",
        work,
        entries: alone(&[TAYET, ACTIX, HYPER, NGINX]),
    }
}

/// With what tells how much of the distance to the floor is the reading of a head, and the memory of a small program.
fn greeters(contestants: &[Contestant]) -> Vec<Entry> {
    let mut entries = beside(contestants);
    let more = [FLOOR_PARSING, TAYET_HELLO].map(|contestant| Entry { contestant, over: Some(FLOOR.key) });
    entries.splice(1..1, more);
    entries
}

/// Each compared with one loop of its kind.
fn by_loops() -> Vec<Entry> {
    [
        (FLOOR_1_LOOP, None),
        (FLOOR_8_LOOPS, Some(FLOOR_1_LOOP.key)),
        (TAYET_1_LOOP, None),
        (TAYET_2_LOOPS, Some(TAYET_1_LOOP.key)),
        (TAYET_8_LOOPS, Some(TAYET_1_LOOP.key)),
    ]
    .map(|(contestant, over)| Entry { contestant, over })
    .to_vec()
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
    use super::*;

    #[test]
    fn only_a_handler_that_never_blocks_takes_another_route_to_be_dispatched() {
        assert_eq!(AXUM_BLOCK.path("/"), "/blocking");
        assert_eq!(AXUM_BLOCK.path("/sleep/10"), "/sleep/10");
        assert_eq!(AXUM.path("/"), "/");
    }

    #[test]
    fn variants_share_a_name() {
        assert_eq!([AXUM, AXUM_BLOCK, TAYET].map(|contestant| contestant.name()), ["axum", "axum", "Tayet"]);
    }

    #[test]
    fn floors_and_tayet_are_no_peers() {
        assert!(![FLOOR, SLEEPER, TAYET, TAYET_4_THREADS].iter().any(Contestant::is_peer));
        assert!([NGINX, GO, ACTIX_BLOCK].iter().all(Contestant::is_peer));
    }

    #[test]
    fn only_sleeping_is_bounded_by_the_connections() {
        let bounds: Vec<_> = scenarios()
            .iter()
            .filter_map(|scenario| Some((scenario.name, scenario.bound_requests_per_second()?)))
            .collect();
        assert_eq!(bounds, [("sleep-10", 1_000.0), ("sleep-50", 5_000.0), ("sleep-100", 10_000.0)]);
    }
}
