//! A load that takes short turns: it keeps connections to several servers open, and puts a load to one of them at a time.
//!
//! `turn_taking` says how it is steered.

mod answer;
mod connections;
mod server_load;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;

use crate::server_load::{Habits, ServerLoad};

#[derive(Parser)]
struct Cli {
    /// Connections to each server.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Requests that are sent at once on each.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pipelined: u32,
    /// Threads that share the connections.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,
    /// What is asked for.
    #[arg(long, default_value = "/")]
    path: String,
    /// Where the servers listen; the first is number 0.
    #[arg(required = true)]
    servers: Vec<SocketAddr>,
}

fn main() -> ExitCode {
    let Err(error) = run(&Cli::parse()) else { return ExitCode::SUCCESS };
    turn_taking::tell_failure(&error);
    ExitCode::FAILURE
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let habits = Habits {
        path: &cli.path,
        connections: cli.connections,
        pipelined: cli.pipelined,
        threads: cli.threads.min(cli.connections),
    };
    let open = |server: &SocketAddr| ServerLoad::open(*server, &habits);
    let mut loads = cli.servers.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let connections = cli.connections as usize * loads.len();
    turn_taking::take_turns(connections, loads.len(), |server, duration| loads[server].load(duration))
}
