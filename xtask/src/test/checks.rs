//! The checks, in the order in which they run: the quick and most telling ones first.

use std::num::NonZero;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::ensure;

use super::needs::{CargoTool, GoTool, Need};
use crate::process::{Runner, behind_others, output_of, side_by_side};
use crate::workspace::Workspace;
use crate::{bench, conformance, layers, tidy};

/// How long one command of a check may take before it is ended.
const COMMAND_LIMIT_MINUTES: u64 = 20;
/// How long fetching the advisory database may take before it counts as out of reach.
const FETCH_LIMIT_SECONDS: u64 = 60;
/// How long each fuzz target runs.
const FUZZ_SECONDS: u64 = 10;
/// Our parsers are safe Rust, in which a sanitizer of addresses finds nothing; with it the build takes half as long again, and a
/// compiler that is not stable.
const NO_SANITIZER: [&str; 2] = ["--sanitizer", "none"];
/// How many of the tests that wait most of their time run at once.
const PYTESTS_AT_ONCE: &str = "3";
/// How many times a model may switch threads against their will; three finds nearly every bug that more would.
const LOOM_MAX_PREEMPTIONS: &str = "3";

/// The workspace of what is only there to be compared with, and of what loads it and us alike.
const PEERS: &str = "bench/peers/Cargo.toml";
/// What of it loads.
const LOADS: &[&str] = &["http-load", "turn-taking", "upload-load", "ws-load"];

/// One check.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) headline: &'static str,
    pub(super) needs: &'static [Need],
    /// Why `--fast` leaves it out, if it does.
    pub(super) too_slow_for_fast: Option<&'static str>,
    pub(super) run: fn(&Workspace, &Runner) -> Verdict,
}

/// An error if the check failed; else what it had to leave out, if anything.
type Verdict = anyhow::Result<Option<String>>;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "fmt",
        headline: "the code is formatted",
        needs: &[Need::RustComponent("rustfmt")],
        too_slow_for_fast: None,
        run: fmt,
    },
    Check {
        name: "layers",
        headline: "crates depend on each other downwards only",
        needs: &[],
        too_slow_for_fast: None,
        run: |workspace, _| layers::run(workspace).map(|()| None),
    },
    Check {
        name: "tidy",
        headline: "lengths, unsafe code, left-over notes, ignored tests",
        needs: &[],
        too_slow_for_fast: None,
        run: |workspace, _| tidy::run(workspace).map(|()| None),
    },
    Check {
        name: "clippy",
        headline: "no warnings from the compiler or clippy",
        needs: &[Need::RustComponent("clippy")],
        too_slow_for_fast: None,
        run: |workspace, runner| {
            cargo(workspace, runner, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
        },
    },
    Check {
        name: "test",
        headline: "unit, integration and documentation tests",
        needs: &[],
        too_slow_for_fast: None,
        run: test,
    },
    Check {
        name: "loads",
        headline: "tests of what loads servers in benchmarks",
        needs: &[],
        too_slow_for_fast: None,
        run: loads,
    },
    Check {
        name: "doc",
        headline: "documentation without warnings",
        needs: &[],
        too_slow_for_fast: None,
        run: doc,
    },
    Check {
        name: "wire",
        headline: "the built programs, over real sockets",
        needs: &[
            Need::Apt("curl"),
            Need::Apt("wrk"),
            Need::PythonPackages("tests/wire/requirements.txt"),
            Need::Cargo(CargoTool::S3S_FS),
        ],
        too_slow_for_fast: Some("starts dozens of servers and waits for their deadlines"),
        run: wire,
    },
    Check {
        name: "mongo",
        headline: "MongoDB collections, with a server of its wire protocol and a wire that fails",
        needs: &[
            Need::Go(GoTool::FERRETDB),
            Need::Go(GoTool::TOXIPROXY),
            Need::PythonPackages("tests/wire/requirements.txt"),
        ],
        too_slow_for_fast: Some("builds FerretDB and waits for breakers to close again"),
        run: mongo,
    },
    Check {
        name: "wsgi",
        headline: "the Python package: PEP 3333, real applications, the command",
        needs: &[Need::PythonPackages("python/tests/requirements.txt")],
        too_slow_for_fast: Some("builds an extension module and starts dozens of servers"),
        run: wsgi,
    },
    Check {
        name: "browser",
        headline: "the demonstration's page in a browser",
        needs: &[Need::Apt("chromium"), Need::NodeModules("tests/browser")],
        too_slow_for_fast: Some("starts a browser"),
        run: browser,
    },
    Check {
        name: "loom",
        headline: "every interleaving of the engine's lock-free parts",
        needs: &[],
        too_slow_for_fast: Some("explores thousands of interleavings"),
        run: loom,
    },
    Check {
        name: "deny",
        headline: "dependencies' licences, sources, duplicates and advisories",
        needs: &[Need::Cargo(CargoTool::DENY)],
        too_slow_for_fast: Some("builds cargo-deny when it is not there"),
        run: deny,
    },
    Check {
        name: "release",
        headline: "the programs build as they are released, and the fuzz targets beside them",
        needs: &[Need::Apt("g++"), Need::Cargo(CargoTool::FUZZ)],
        too_slow_for_fast: Some("link-time optimization takes minutes"),
        run: release,
    },
    Check {
        name: "autobahn",
        headline: "the quick sections of the Autobahn suite for WebSockets",
        needs: &[],
        too_slow_for_fast: Some("link-time optimization takes minutes"),
        run: conformance::check_quickly,
    },
    Check {
        name: "instructions",
        headline: "what requests cost in user space, against the record",
        needs: &[Need::Apt("valgrind")],
        too_slow_for_fast: Some("link-time optimization takes minutes"),
        run: |workspace, runner| {
            bench::check_instructions(workspace, runner, bench::Ratchet::Check).map(|()| None)
        },
    },
    Check {
        name: "fuzz",
        headline: "every fuzz target, briefly",
        needs: &[Need::Apt("g++"), Need::Cargo(CargoTool::FUZZ)],
        too_slow_for_fast: Some("each target runs for a while"),
        run: fuzz,
    },
];

fn cargo(workspace: &Workspace, runner: &Runner, args: &[&str]) -> Verdict {
    run(runner, cargo_command(workspace).args(args))
}

fn fmt(workspace: &Workspace, runner: &Runner) -> Verdict {
    for manifest in ["Cargo.toml", PEERS, "fuzz/Cargo.toml"] {
        cargo(workspace, runner, &["fmt", "--manifest-path", manifest, "--all", "--check"])?;
    }
    Ok(None)
}

fn test(workspace: &Workspace, runner: &Runner) -> Verdict {
    // Some tests start an example, and `cargo test` builds an example with tests of its own only as a test.
    build_programs(workspace, runner)?;
    cargo(workspace, runner, &["test", "--workspace", "--no-fail-fast"])
}

/// Builds what the tests start.
///
/// The development profile is meant: it checks arithmetic and debug assertions, which the release profile does not.
fn build_programs(workspace: &Workspace, runner: &Runner) -> Verdict {
    cargo(workspace, runner, &["build", "--workspace", "--bins", "--examples"])
}

/// What the harness relies on; the peers themselves it checks whenever it starts them.
fn loads(workspace: &Workspace, runner: &Runner) -> Verdict {
    let mut command = cargo_command(workspace);
    command.args(["test", "--manifest-path", PEERS, "--locked"]);
    command.args(LOADS.iter().flat_map(|package| ["--package", package]));
    run(runner, &mut command)
}

fn doc(workspace: &Workspace, runner: &Runner) -> Verdict {
    let mut command = cargo_command(workspace);
    // Libraries only: the program `tayet` would be documented over the crate `tayet`.
    command.args(["doc", "--no-deps", "--workspace", "--lib"]).env("RUSTDOCFLAGS", "-D warnings");
    run(runner, &mut command)
}

fn wire(workspace: &Workspace, runner: &Runner) -> Verdict {
    build_programs(workspace, runner)?;
    wire_tests(workspace, runner, "not mongo")
}

/// Runs those of the wire tests whose marks fit.
fn wire_tests(workspace: &Workspace, runner: &Runner, marks: &str) -> Verdict {
    run(runner, pytest(workspace, "tests/wire").args(["-m", marks]))
}

/// The tests of a directory, several at a time: most of them wait, for deadlines and for servers to start.
fn pytest(workspace: &Workspace, directory: &str) -> Command {
    let mut pytest = Command::new(workspace.path(".venv/bin/python"));
    pytest.args(["-m", "pytest", "--numprocesses", PYTESTS_AT_ONCE, "--dist", "worksteal", directory]);
    pytest.current_dir(workspace.root());
    pytest
}

fn mongo(workspace: &Workspace, runner: &Runner) -> Verdict {
    if !GoTool::can_be_built() {
        return Ok(Some("all of it, which needs FerretDB: there is no Go to build it with".to_owned()));
    }
    build_programs(workspace, runner)?;
    // By the test's name: with `-p`, dependencies would have other features, and most would be built once more.
    cargo(workspace, runner, &["test", "--workspace", "--test", "server", "--", "--ignored"])?;
    wire_tests(workspace, runner, "mongo")?;
    // What clients say and hear of transactions is tested everywhere, by a server that keeps nothing.
    let has_server = std::env::var_os("TAYET_TEST_MONGODB_URI").is_some();
    let why = "that a transaction happens whole or not, which FerretDB cannot: TAYET_TEST_MONGODB_URI names no replica set";
    Ok((!has_server).then(|| why.to_owned()))
}

fn wsgi(workspace: &Workspace, runner: &Runner) -> Verdict {
    let mut maturin = Command::new(workspace.path(".venv/bin/maturin"));
    maturin.arg("develop").current_dir(workspace.path("python")).env("VIRTUAL_ENV", workspace.path(".venv"));
    run(runner, &mut maturin)?;
    run(runner, &mut pytest(workspace, "python/tests"))
}

fn browser(workspace: &Workspace, runner: &Runner) -> Verdict {
    build_programs(workspace, runner)?;
    run(runner, Command::new("npm").arg("test").current_dir(workspace.path("tests/browser")))
}

fn loom(workspace: &Workspace, runner: &Runner) -> Verdict {
    run(runner, loom_command(workspace).arg("--no-run"))?;
    let models = output_of(loom_command(workspace).args(["--", "--list"]))?;
    // A filter that matches nothing passes too, which would prove nothing.
    ensure!(models.lines().any(|line| line.ends_with(": test")), "no model is called loom_*");
    run(runner, &mut loom_command(workspace))
}

fn loom_command(workspace: &Workspace) -> Command {
    let mut command = cargo_command(workspace);
    command.args(["test", "-p", "tayet-engine", "--release", "--lib", "loom"]);
    command.env("RUSTFLAGS", "--cfg loom");
    command.env("LOOM_MAX_PREEMPTIONS", LOOM_MAX_PREEMPTIONS);
    // The flag rebuilds every dependency: a directory of its own keeps the ordinary builds warm.
    command.env("CARGO_TARGET_DIR", workspace.path("target/loom"));
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}

fn deny(workspace: &Workspace, runner: &Runner) -> Verdict {
    cargo(workspace, runner, &["deny", "check", "bans", "licenses", "sources"])?;
    let fetch_limit = Duration::from_secs(FETCH_LIMIT_SECONDS);
    if let Err(error) = runner.run(cargo_command(workspace).args(["deny", "fetch", "db"]), fetch_limit) {
        return Ok(Some(format!("advisories, because their database is out of reach: {error:#}")));
    }
    cargo(workspace, runner, &["deny", "check", "--disable-fetch", "advisories"])
}

/// Builds the main job, the arena and the fuzz targets, which the checks that follow start. Linking the arena takes one core for
/// minutes, so that the fuzz targets are built by the time when they are needed, with what is left of the other.
fn release(workspace: &Workspace, runner: &Runner) -> Verdict {
    // The README's first command: the arena's dependencies, with their features, must not be needed for it.
    cargo(workspace, runner, &["check"])?;
    let programs = &["build", "--release", "--package", "tayet-cli", "--bins", "--example", "arena"];
    let build_programs = || cargo(workspace, runner, programs).map(drop);
    let build_fuzz_targets = || run(runner, &mut behind_others(&fuzz_build(workspace))).map(drop);
    side_by_side(&[&build_programs, &build_fuzz_targets])?;
    Ok(None)
}

fn fuzz(workspace: &Workspace, runner: &Runner) -> Verdict {
    let targets = output_of(fuzz_command(workspace).arg("list"))?;
    ensure!(!targets.trim().is_empty(), "there is no fuzz target");
    run(runner, &mut fuzz_build(workspace))?;
    let waiting = Mutex::new(targets.split_whitespace());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let fuzz_those_that_wait = || {
        while let Some(target) = next() {
            fuzz_briefly(workspace, runner, target)?;
        }
        anyhow::Ok(())
    };
    // Each has a core for itself.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    side_by_side(&vec![&fuzz_those_that_wait as _; cores])?;
    Ok(None)
}

fn fuzz_briefly(workspace: &Workspace, runner: &Runner, target: &str) -> anyhow::Result<()> {
    let total_time = format!("-max_total_time={FUZZ_SECONDS}");
    let options = ["-timeout=10", "-verbosity=0", "-print_funcs=0", "-print_final_stats=1"];
    let mut command = fuzz_command(workspace);
    command.arg("run").args(NO_SANITIZER).args([target, "--", &total_time]).args(options);
    run(runner, &mut command).map(drop)
}

fn fuzz_build(workspace: &Workspace) -> Command {
    let mut command = fuzz_command(workspace);
    command.arg("build").args(NO_SANITIZER);
    command
}

fn fuzz_command(workspace: &Workspace) -> Command {
    let mut command = cargo_command(workspace);
    command.arg("fuzz");
    command
}

fn cargo_command(workspace: &Workspace) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace.root()).env("PATH", CargoTool::search_path(workspace));
    command
}

fn run(runner: &Runner, command: &mut Command) -> Verdict {
    runner.run(command, Duration::from_secs(COMMAND_LIMIT_MINUTES * 60)).map(|()| None)
}
