//! Who is measured.

use std::fmt;

/// A server with the settings in which it takes part. Its key names it on the command line and in the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contestant {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) program: Program,
    /// For Tayet, the value of `--execution`.
    pub(super) execution: Option<&'static str>,
    /// Whether a handler that does nothing goes through the server's pool for blocking work nevertheless.
    pub(super) dispatches: bool,
}

/// What has to be built or installed to start a contestant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Program {
    /// A binary of the floor's package.
    Floor(&'static str),
    /// Tayet's own application.
    Arena,
    /// A package of the peers' workspace, and the library that it shows.
    Rust {
        package: &'static str,
        library: &'static str,
    },
    /// A command of the peers' Go module.
    Go(&'static str),
    /// The peers' Node server, in so many processes.
    Node {
        processes: u32,
    },
    Nginx,
}

pub(super) const FLOOR: Contestant = peer("floor", "bare epoll loop", Program::Floor("floor-epoll"));
pub(super) const SLEEPER: Contestant =
    peer("sleeper", "bare thread per connection", Program::Floor("floor-sleeper"));

pub(super) const WEBSOCKET_FLOOR: Contestant =
    peer("websocket-floor", "bare epoll loop", Program::Floor("floor-websocket"));

pub(super) const TAYET: Contestant = tayet("tayet", "Tayet, task pool", "task-pool");
pub(super) const TAYET_INLINE: Contestant = tayet("tayet-inline", "Tayet, inline", "inline");
pub(super) const TAYET_4_THREADS: Contestant =
    tayet("tayet-4-threads", "Tayet, pool of 4 threads", "thread-pool:4");
pub(super) const TAYET_100_THREADS: Contestant =
    tayet("tayet-100-threads", "Tayet, pool of 100 threads", "thread-pool:100");

pub(super) const ACTIX: Contestant = peer("actix", "actix-web", rust("peer-actix", "actix-web"));
pub(super) const ACTIX_BLOCK: Contestant =
    dispatching("actix-block", "actix-web, web::block", rust("peer-actix", "actix-web"));
pub(super) const ASTRA: Contestant = peer("astra", "astra", rust("peer-astra", "astra"));
pub(super) const AXUM: Contestant = peer("axum", "axum", rust("peer-axum", "axum"));
pub(super) const AXUM_BLOCK: Contestant =
    dispatching("axum-block", "axum, spawn_blocking", rust("peer-axum", "axum"));
pub(super) const FASTHTTP: Contestant = peer("fasthttp", "Go fasthttp", Program::Go("fasthttp"));
pub(super) const FASTWEBSOCKETS: Contestant =
    peer("fastwebsockets", "fastwebsockets", rust("peer-fastwebsockets", "fastwebsockets"));
pub(super) const GO: Contestant = peer("go", "Go net/http", Program::Go("nethttp"));
pub(super) const GORILLA: Contestant = peer("gorilla", "Go gorilla/websocket", Program::Go("gorilla"));
pub(super) const HYPER: Contestant = peer("hyper", "hyper", rust("peer-hyper", "hyper"));
pub(super) const MAY_MINIHTTP: Contestant =
    peer("may-minihttp", "may_minihttp", rust("peer-may-minihttp", "may_minihttp"));
pub(super) const NGINX: Contestant = peer("nginx", "nginx", Program::Nginx);
pub(super) const NODE: Contestant = peer("node", "Node ws, 1 process", Program::Node { processes: 1 });
pub(super) const NODE_CLUSTER: Contestant =
    peer("node-cluster", "Node ws, cluster of 2", Program::Node { processes: 2 });
pub(super) const NTEX: Contestant = peer("ntex", "ntex, io_uring", rust("peer-ntex", "ntex"));
pub(super) const TINY_HTTP: Contestant = peer("tiny-http", "tiny_http", rust("peer-tiny-http", "tiny_http"));
pub(super) const TUNGSTENITE: Contestant =
    peer("tungstenite", "tokio-tungstenite", rust("peer-tungstenite", "tokio-tungstenite"));

impl Contestant {
    /// The path that does `path`'s work: dispatching a handler that never blocks takes a route of its own.
    pub(super) fn path<'a>(&self, path: &'a str) -> &'a str {
        if self.dispatches && path == "/" { "/blocking" } else { path }
    }

    /// The title without the settings.
    pub(super) fn name(&self) -> &'static str {
        self.title.split_once(", ").map_or(self.title, |(name, _)| name)
    }

    /// Whether it can be told to ping idle WebSockets.
    pub(super) fn pings(&self) -> bool {
        matches!(self.program, Program::Arena)
    }

    /// Whether `--peers` chooses it; the floors and Tayet itself always take part.
    pub(super) fn is_peer(&self) -> bool {
        !matches!(self.program, Program::Arena | Program::Floor(_))
    }

    /// Whether it is what Tayet is compared with as the least possible.
    pub(super) fn is_floor(&self) -> bool {
        matches!(self.program, Program::Floor(_))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(name) | Self::Go(name) => f.write_str(name),
            Self::Arena => f.write_str("arena"),
            Self::Rust { package, .. } => f.write_str(package),
            Self::Node { .. } => f.write_str("node"),
            Self::Nginx => f.write_str("nginx"),
        }
    }
}

const fn peer(key: &'static str, title: &'static str, program: Program) -> Contestant {
    Contestant { key, title, program, execution: None, dispatches: false }
}

const fn dispatching(key: &'static str, title: &'static str, program: Program) -> Contestant {
    Contestant { dispatches: true, ..peer(key, title, program) }
}

const fn tayet(key: &'static str, title: &'static str, execution: &'static str) -> Contestant {
    Contestant { execution: Some(execution), ..peer(key, title, Program::Arena) }
}

const fn rust(package: &'static str, library: &'static str) -> Program {
    Program::Rust { package, library }
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
}
