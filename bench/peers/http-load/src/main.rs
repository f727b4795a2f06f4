//! A load that takes short turns: it keeps connections to several servers open, and puts a load to one of them at a time.
//!
//! It says when its connections are open. Then each line of the standard input, `load SERVER MILLISECONDS`, has the server of that
//! number loaded for so long, and what came of it is printed as JSON, one object a line. It ends with its input.

mod answer;
mod connections;
mod control;
mod server_load;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;

use crate::control::{Command, Event};
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
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever has started it reads its lines, if anybody does.
            let _ = Event::Failed { error: format!("{error:#}") }.print();
            ExitCode::FAILURE
        }
    }
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
    Event::Opened { connections: cli.connections as usize * loads.len() }.print()?;
    for line in io::stdin().lines() {
        let Command { server, duration } = Command::parse(&line?, loads.len())?;
        loads[server].load(duration)?.print()?;
    }
    Ok(())
}
