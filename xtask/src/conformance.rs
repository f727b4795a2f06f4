//! `cargo xtask conformance`: the Autobahn suite, the public one for WebSockets, against the arena's echo.

mod python;
mod report;
mod suite;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command};
use std::time::Duration;

use anyhow::{Context, ensure};

use self::python::Python;
use self::report::{Report, Skip};
use self::suite::Suite;
use crate::bench;
use crate::bench::background::Background;
use crate::process::Runner;
use crate::workspace::Workspace;

/// Where the suite is installed, and where it leaves its reports.
const DIRECTORY: &str = "target/conformance";
/// The sections that take seconds; those on limits and compression take minutes.
const QUICK_CASES: &[&str] = &["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"];
const ALL_CASES: &[&str] = &["*"];
/// How long the quick cases may take, and how long all.
const QUICK_LIMIT_MINUTES: u64 = 5;
const ALL_LIMIT_MINUTES: u64 = 60;
/// What the arena says when it can be connected to.
const LISTENING: &str = "listening on http://";

/// How much of the suite to run.
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// Runs all cases, which takes about 20 minutes, rather than the quick ones.
    #[arg(long)]
    all: bool,
}

/// Runs what `args` name, and says loudly what was left out.
pub(crate) fn run(workspace: &Workspace, args: &ConformanceArgs) -> anyhow::Result<()> {
    let (cases, limit_minutes) =
        if args.all { (ALL_CASES, ALL_LIMIT_MINUTES) } else { (QUICK_CASES, QUICK_LIMIT_MINUTES) };
    if let Some(left_out) = check(workspace, &Runner::new()?, cases, limit_minutes)? {
        println!("conformance: LEFT OUT: {left_out}");
    }
    Ok(())
}

/// Runs the quick cases. An error if one fails; else what was left out, if anything.
pub(crate) fn check_quickly(workspace: &Workspace, runner: &Runner) -> anyhow::Result<Option<String>> {
    check(workspace, runner, QUICK_CASES, QUICK_LIMIT_MINUTES)
}

fn check(
    workspace: &Workspace,
    runner: &Runner,
    cases: &[&str],
    limit_minutes: u64,
) -> anyhow::Result<Option<String>> {
    let Some(python) = Python::find() else {
        return Ok(Some("the Autobahn suite, which needs Python 2.7: there is none here".to_owned()));
    };
    let directory = workspace.path(DIRECTORY);
    fs::create_dir_all(&directory)?;
    let suite = Suite::install(runner, &python, &directory)?;
    // A copy of its own, so that a benchmark may be prepared meanwhile: a program that runs can't be overwritten.
    let program = directory.join("arena");
    fs::copy(bench::programs::build_arena(workspace, runner)?, &program)?;
    let arena = Arena::start(&program, &directory)?;
    let skips = Skip::read_list(&workspace.path("xtask/src/conformance/skips.json"))?;
    let limit = Duration::from_secs(limit_minutes * 60);
    let run = suite.run(&arena.url(), cases, &skips, limit)?;
    ensure!(!runner.is_interrupted(), "interrupted");
    Report::read(&run)?.conclude()?;
    Ok(None)
}

/// The arena, listening until it is dropped.
struct Arena {
    address: String,
    _process: Background,
    /// Kept, since the arena would fail to write to a pipe that nobody has.
    _output: BufReader<ChildStdout>,
}

impl Arena {
    fn start(program: &Path, directory: &Path) -> anyhow::Result<Self> {
        let log = File::create(directory.join("arena.log"))?;
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]).stderr(log);
        let (process, _, output) = Background::start_with_pipes(&mut command)?;
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line)?;
        let address = line.trim().strip_prefix(LISTENING);
        let address =
            address.with_context(|| format!("the arena said {line:?} rather than where it listens"))?;
        Ok(Self { address: address.to_owned(), _process: process, _output: output })
    }

    fn url(&self) -> String {
        format!("ws://{}/ws", self.address)
    }
}
