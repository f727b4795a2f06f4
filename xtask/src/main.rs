//! The project's own chores, run as `cargo xtask CHORE`.

mod bench;
mod conformance;
mod layers;
mod process;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// The project's own chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Installs what the tests need, then runs every check.
    Test(test::TestArgs),
    /// Measures Tayet beside its peers.
    Bench(bench::BenchArgs),
    /// Runs the Autobahn suite against the arena's WebSockets.
    Conformance(conformance::ConformanceArgs),
    /// Checks that the crates depend on each other downwards only.
    Layers,
    /// Checks lengths, `unsafe`, left-over notes and ignored tests.
    Tidy,
}

fn main() -> ExitCode {
    let outcome = run(Cli::parse().chore);
    if let Err(error) = &outcome {
        eprintln!("xtask: {error:#}");
    }
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    let workspace = Workspace::here()?;
    match chore {
        Chore::Test(args) => test::run(&workspace, &args),
        Chore::Bench(args) => bench::run(&workspace, &args),
        Chore::Conformance(args) => conformance::run(&workspace, &args),
        Chore::Layers => layers::run(&workspace),
        Chore::Tidy => tidy::run(&workspace),
    }
}
