//! What a server does in user space, counted by valgrind's callgrind: nearly exact where times are noisy.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::Harness;
use super::client::Connection;
use super::contestant::Contestant;
use super::launch::Launch;
use super::programs::Programs;
use super::server::{Server, last_line};
use crate::workspace::Workspace;

/// Connections that take turns, so that a poll may find several of them ready.
pub(super) const CONNECTIONS: usize = 64;
/// Rounds of requests in the shorter and the longer run: what differs is the requests alone.
const ROUNDS: (usize, usize) = (30, 330);
/// Everything is many times slower under valgrind.
const START_LIMIT: Duration = Duration::from_secs(60);
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const END_LIMIT: Duration = Duration::from_secs(60);
/// What programs call for memory; the callees of an allocator's own are not counted again.
const ALLOCATORS: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];

/// Has Tayet hold no answers, since none is that takes a second: whether it would depends on how long a call takes, which is
/// another time here than without valgrind, and every time another.
const HOLD_ANSWERS_FROM_US: (&str, &str) = ("TAYET_HOLD_ANSWERS_FROM_US", "1000000");

/// What something cost, in the mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cost {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
}

/// The instructions that one `GET /` costs `contestant`.
pub(super) fn count(harness: &Harness<'_>, contestant: &Contestant) -> anyhow::Result<f64> {
    let cost = cost_of(harness.workspace, &harness.programs, contestant, "/", CONNECTIONS, ask)?;
    Ok(cost.instructions)
}

/// The cost of each of the `a_round` things that `work` has the server do in one round; it is told how many rounds.
pub(super) fn cost_of(
    workspace: &Workspace,
    programs: &Programs,
    contestant: &Contestant,
    path: &str,
    a_round: usize,
    work: impl Fn(&Server, usize) -> anyhow::Result<()>,
) -> anyhow::Result<Cost> {
    let total = |rounds| profile(workspace, programs, contestant, path, |server| work(server, rounds));
    let (short, long) = (total(ROUNDS.0)?, total(ROUNDS.1)?);
    let things = ((ROUNDS.1 - ROUNDS.0) * a_round) as f64;
    Ok(Cost {
        instructions: long.instructions.saturating_sub(short.instructions) as f64 / things,
        allocations: long.allocations.saturating_sub(short.allocations) as f64 / things,
    })
}

/// What a whole run takes, from the server's start to its end.
#[derive(PartialEq, Debug)]
struct Profile {
    instructions: u64,
    allocations: u64,
}

fn profile(
    workspace: &Workspace,
    programs: &Programs,
    contestant: &Contestant,
    path: &str,
    work: impl FnOnce(&Server) -> anyhow::Result<()>,
) -> anyhow::Result<Profile> {
    let mut launch = Launch::new(workspace, programs, contestant, path)?;
    let file = workspace.path("target/bench/servers").join(contestant.key).join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    valgrind.arg(launch.command.get_program()).args(launch.command.get_args());
    valgrind.env(HOLD_ANSWERS_FROM_US.0, HOLD_ANSWERS_FROM_US.1);
    launch.command = valgrind;
    if file.exists() {
        fs::remove_file(&file)?;
    }
    let log = launch.log.clone();
    let server = Server::start_within(launch, path, START_LIMIT)?;
    work(&server).with_context(|| last_line(&log))?;
    server.end_within(END_LIMIT)?;
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    parse(&text)
}

fn ask(server: &Server, rounds: usize) -> anyhow::Result<()> {
    let mut connections: Vec<_> =
        (0..CONNECTIONS).map(|_| Connection::open(server.address, ANSWER_LIMIT)).collect::<Result<_, _>>()?;
    for _ in 0..rounds {
        for connection in &mut connections {
            connection.send(&server.path)?;
        }
        for connection in &mut connections {
            ensure!(connection.receive()?.status == 200, "it did not answer with 200");
        }
    }
    Ok(())
}

fn parse(profile: &str) -> anyhow::Result<Profile> {
    let line = profile.lines().find_map(|line| line.strip_prefix("totals: "));
    let instructions = line.context("callgrind gave no total")?.trim().parse();
    let instructions = instructions.context("callgrind's total is no number")?;
    Ok(Profile { instructions, allocations: count_calls(profile, &ALLOCATORS)? })
}

/// How often functions of these names were called by others.
///
/// The format names a function when it first comes up, `cfn=(12) malloc`, and then has its number alone; a line
/// `calls=3 …` with the count follows that of the callee.
fn count_calls(profile: &str, names: &[&str]) -> anyhow::Result<u64> {
    let mut wanted = Vec::new();
    let mut caller_is_wanted = false;
    let mut callee_is_wanted = false;
    let mut count = 0;
    for line in profile.lines() {
        let (is_caller, function) = match (line.strip_prefix("fn="), line.strip_prefix("cfn=")) {
            (Some(function), _) => (true, function),
            (_, Some(function)) => (false, function),
            (None, None) => {
                if let Some(calls) = line.strip_prefix("calls=")
                    && callee_is_wanted
                    && !caller_is_wanted
                {
                    let calls = calls.split(' ').next().unwrap_or_default();
                    count += calls.parse::<u64>().context("callgrind's calls are no number")?;
                }
                continue;
            }
        };
        let (number, name) = function.split_once(' ').unwrap_or((function, ""));
        if names.contains(&name) {
            wanted.push(number.to_owned());
        }
        let is_wanted = wanted.iter().any(|wanted| wanted == number);
        if is_caller {
            caller_is_wanted = is_wanted;
        } else {
            callee_is_wanted = is_wanted;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_its_line() {
        let profile = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) main\n1 5\n\ntotals: 123456\n";
        assert_eq!(parse(profile).unwrap(), Profile { instructions: 123_456, allocations: 0 });
        assert!(parse("version: 1\n").is_err());
    }

    #[test]
    fn calls_are_counted_by_name_and_by_number_but_not_those_within() {
        let profile = "fn=(1) main\ncfn=(2) malloc\ncalls=3 5\n1 10\ncfn=(4) free\ncalls=9 5\n1 2\n\
                       fn=(3) other\ncfn=(2)\ncalls=4 1\n2 2\nfn=(5) realloc\ncfn=(2)\ncalls=50 1\n1 1\n";
        assert_eq!(count_calls(profile, &ALLOCATORS).unwrap(), 7);
    }
}
