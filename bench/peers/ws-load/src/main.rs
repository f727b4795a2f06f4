//! A load of WebSockets: as many as a process may hold, driven by one loop, and nothing received that is not checked.
//!
//! Each mode opens its sockets, says so, and goes on when it is told to; what happens it prints as JSON, one object a
//! line. It ends by itself. It connects from many addresses: one has some 28,000 ports, which is fewer than the sockets
//! that a large server holds.

mod clock;
mod control;
mod deflate;
mod echo;
mod fanout;
mod frame;
mod handshake;
mod idle;
mod latencies;
mod opening;
mod publication;
mod sockets;
mod turns;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::control::Event;
use crate::opening::Target;

/// Some listeners queue 128.
const IN_FLIGHT: u32 = 100;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    mode: Mode,
}

#[derive(Subcommand)]
enum Mode {
    /// Sends 64 bytes of text on each socket, and again when they are back.
    Echo {
        #[command(flatten)]
        target: TargetArgs,
        /// How long, in seconds.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
        seconds: u64,
        /// Loops that share the sockets.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        loops: u32,
    },
    /// The same in short turns, to one of several servers at a time: `turn_taking` says how they are steered.
    Turns {
        #[arg(long)]
        path: String,
        /// How many sockets to open to each server.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=28_000))]
        sockets: u32,
        /// Loops that share the sockets to a server.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
        loops: u32,
        /// Where the servers listen; the first is number 0.
        #[arg(required = true)]
        servers: Vec<SocketAddrV4>,
    },
    /// Publishes 128 bytes of text to all sockets, and again when all have them.
    Fanout {
        #[command(flatten)]
        target: TargetArgs,
        /// How long, in seconds.
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
        seconds: u64,
    },
    /// Opens sockets and answers pings. Takes `status`, `publish` and `close`, one a line, from the standard input.
    Idle {
        #[command(flatten)]
        target: TargetArgs,
        /// Compress messages, and exchange one on each socket at first.
        #[arg(long)]
        deflate: bool,
        /// Ends with an error after so many seconds, whatever is still asked for.
        #[arg(long, default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..=3600))]
        limit_seconds: u64,
    },
}

#[derive(Args)]
struct TargetArgs {
    /// The server's address.
    #[arg(long)]
    address: SocketAddrV4,
    #[arg(long)]
    path: String,
    /// How many sockets to open.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    sockets: u32,
    /// The first of the addresses to connect from.
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST)]
    source: Ipv4Addr,
    /// How many consecutive addresses to connect from.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    sources: u32,
    /// How many sockets may be on their way to be open at a time.
    #[arg(long, default_value_t = IN_FLIGHT, value_parser = clap::value_parser!(u32).range(1..=4096))]
    in_flight: u32,
}

impl TargetArgs {
    fn target(self, deflate: bool) -> Target {
        let Self { address, path, sockets, source, sources, in_flight } = self;
        let (sockets, in_flight) = (sockets as usize, in_flight as usize);
        Target { address, path, sockets, source, sources, in_flight, deflate }
    }
}

fn main() -> ExitCode {
    let Err(error) = run(Cli::parse().mode) else { return ExitCode::SUCCESS };
    // Whoever reads the events cannot be told if this fails.
    let _ = Event::Failed { error: format!("{error:#}") }.print();
    ExitCode::FAILURE
}

fn run(mode: Mode) -> anyhow::Result<()> {
    match mode {
        Mode::Echo { target, seconds, loops } => {
            echo::run(&target.target(false), Duration::from_secs(seconds), loops as usize)
        }
        Mode::Turns { path, sockets, loops, servers } => {
            let target = |address: &SocketAddrV4| Target {
                address: *address,
                path: path.clone(),
                sockets: sockets as usize,
                source: Ipv4Addr::LOCALHOST,
                sources: 1,
                in_flight: IN_FLIGHT as usize,
                deflate: false,
            };
            turns::run(&servers.iter().map(target).collect::<Vec<_>>(), loops as usize)
        }
        Mode::Fanout { target, seconds } => fanout::run(&target.target(false), Duration::from_secs(seconds)),
        Mode::Idle { target, deflate, limit_seconds } => {
            idle::run(&target.target(deflate), Duration::from_secs(limit_seconds))
        }
    }
}
