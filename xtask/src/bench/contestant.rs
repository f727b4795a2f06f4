//! Who is measured.

use std::borrow::Cow;
use std::fmt;

/// A server with the settings in which it takes part. Its key names it on the command line and in the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contestant {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) program: Program,
    /// What its command is told beside where to listen.
    pub(super) arguments: &'static [&'static str],
    /// How it does the work, where it has several ways.
    pub(super) way: Way,
}

/// One of several ways to do the same work, each behind a route of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Plain,
    /// A handler that does nothing goes through the server's pool for blocking work nevertheless.
    Dispatched,
}

/// What has to be built or installed to start a contestant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Program {
    /// A binary of the floor's package.
    Floor(&'static str),
    /// Tayet's own application.
    Arena,
    /// A small one of Tayet's examples, which takes its settings from the environment.
    Example {
        /// The crate that has it: of what others depend on, nothing is linked in.
        package: &'static str,
        name: &'static str,
    },
    /// Tayet's command.
    Tayet,
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
    /// The peers' Node server in front of MongoDB, in one process.
    NodeMongo,
    Nginx {
        /// Whether it keeps files open, and looks for changes now and then.
        caches_files: bool,
    },
    /// A program that crates.io has.
    Crate {
        package: &'static str,
        version: &'static str,
    },
    Tusd,
    /// A server of a Python package, as `bench/peers/wsgi/serve.py` knows it.
    Wsgi {
        package: &'static str,
        server: &'static str,
    },
}

// Those of several families; the others are beside the scenarios in which they take part.

pub(super) const FLOOR: Contestant = peer("floor", "bare epoll loop", Program::Floor("floor-epoll"));

pub(super) const TAYET: Contestant = tayet("tayet", "Tayet, task pool", &["--execution", "task-pool"]);
pub(super) const TAYET_INLINE: Contestant =
    tayet("tayet-inline", "Tayet, inline", &["--execution", "inline"]);

pub(super) const ACTIX: Contestant = peer("actix", "actix-web", rust("peer-actix", "actix-web"));
pub(super) const ASTRA: Contestant = peer("astra", "astra", rust("peer-astra", "astra"));
pub(super) const AXUM: Contestant = peer("axum", "axum", rust("peer-axum", "axum"));
pub(super) const FASTHTTP: Contestant = peer("fasthttp", "Go fasthttp", Program::Go("fasthttp"));
pub(super) const GO: Contestant = peer("go", "Go net/http", Program::Go("nethttp"));
pub(super) const HYPER: Contestant = peer("hyper", "hyper", rust("peer-hyper", "hyper"));
pub(super) const MAY_MINIHTTP: Contestant =
    peer("may-minihttp", "may_minihttp", rust("peer-may-minihttp", "may_minihttp"));
pub(super) const NGINX: Contestant = peer("nginx", "nginx", Program::Nginx { caches_files: false });
pub(super) const NTEX: Contestant = peer("ntex", "ntex, io_uring", rust("peer-ntex", "ntex"));
pub(super) const TINY_HTTP: Contestant = peer("tiny-http", "tiny_http", rust("peer-tiny-http", "tiny_http"));

impl Contestant {
    /// The path that does `path`'s work in this contestant's way.
    pub(super) fn path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match self.way {
            Way::Dispatched if path == "/" => "/blocking".into(),
            Way::Plain | Way::Dispatched => path.into(),
        }
    }

    /// The title without the settings.
    pub(super) fn name(&self) -> &'static str {
        name_of(self.title)
    }

    /// Whether it can be told to ping idle WebSockets.
    pub(super) fn pings(&self) -> bool {
        matches!(self.program, Program::Arena)
    }

    /// Whether `--peers` chooses it; the floors and Tayet itself always take part.
    pub(super) fn is_peer(&self) -> bool {
        !self.is_tayet() && !self.is_floor()
    }

    pub(super) fn is_tayet(&self) -> bool {
        matches!(
            self.program,
            Program::Arena
                | Program::Example { .. }
                | Program::Tayet
                | Program::Wsgi { package: "tayet", .. }
        )
    }

    /// Whether it is what Tayet is compared with as the least possible.
    pub(super) fn is_floor(&self) -> bool {
        matches!(self.program, Program::Floor(_))
    }
}

/// A title without the settings.
pub(super) fn name_of(title: &str) -> &str {
    title.split_once(", ").map_or(title, |(name, _)| name)
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(name) | Self::Example { name, .. } | Self::Go(name) => f.write_str(name),
            Self::Arena => f.write_str("arena"),
            Self::Tayet => f.write_str("tayet"),
            Self::Rust { package, .. } | Self::Crate { package, .. } => f.write_str(package),
            Self::Node { .. } | Self::NodeMongo => f.write_str("node"),
            Self::Nginx { .. } => f.write_str("nginx"),
            Self::Tusd => f.write_str("tusd"),
            Self::Wsgi { server, .. } => f.write_str(server),
        }
    }
}

pub(super) const fn peer(key: &'static str, title: &'static str, program: Program) -> Contestant {
    Contestant { key, title, program, arguments: &[], way: Way::Plain }
}

pub(super) const fn dispatching(key: &'static str, title: &'static str, program: Program) -> Contestant {
    Contestant { way: Way::Dispatched, ..peer(key, title, program) }
}

/// The arena with `arguments`.
pub(super) const fn tayet(
    key: &'static str,
    title: &'static str,
    arguments: &'static [&'static str],
) -> Contestant {
    Contestant { arguments, ..peer(key, title, Program::Arena) }
}

pub(super) const fn rust(package: &'static str, library: &'static str) -> Program {
    Program::Rust { package, library }
}
