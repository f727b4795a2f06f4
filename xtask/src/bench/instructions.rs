//! User-space instructions a request, counted by valgrind's callgrind: exact where times are noisy.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::Harness;
use super::client::Connection;
use super::contestant::Contestant;
use super::launch::Launch;
use super::server::Server;

/// Connections that take turns, so that a poll may find several of them ready.
const CONNECTIONS: usize = 64;
/// Requests on each connection in the shorter and the longer run: what differs is the requests alone.
const REQUESTS: (usize, usize) = (30, 330);
/// Everything is many times slower under valgrind.
const START_LIMIT: Duration = Duration::from_secs(60);
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const END_LIMIT: Duration = Duration::from_secs(60);

/// The instructions that one `GET /` costs `contestant`.
pub(super) fn count(harness: &Harness<'_>, contestant: &Contestant) -> anyhow::Result<f64> {
    let short = total(harness, contestant, REQUESTS.0)?;
    let long = total(harness, contestant, REQUESTS.1)?;
    let requests = (REQUESTS.1 - REQUESTS.0) * CONNECTIONS;
    Ok(long.saturating_sub(short) as f64 / requests as f64)
}

/// The instructions of a whole run, from the server's start to its end.
fn total(harness: &Harness<'_>, contestant: &Contestant, requests: usize) -> anyhow::Result<u64> {
    let mut launch = Launch::new(harness.workspace, &harness.programs, contestant, "/")?;
    let profile = harness.workspace.path("target/bench/servers").join(contestant.key).join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", profile.display()));
    valgrind.arg(launch.command.get_program()).args(launch.command.get_args());
    launch.command = valgrind;
    if profile.exists() {
        fs::remove_file(&profile)?;
    }
    let server = Server::start_within(launch, "/", START_LIMIT)?;
    ask(&server, requests)?;
    server.end_within(END_LIMIT)?;
    let text = fs::read_to_string(&profile).with_context(|| format!("reading {}", profile.display()))?;
    parse_total(&text)
}

fn ask(server: &Server, requests: usize) -> anyhow::Result<()> {
    let mut connections: Vec<_> =
        (0..CONNECTIONS).map(|_| Connection::open(server.address, ANSWER_LIMIT)).collect::<Result<_, _>>()?;
    for _ in 0..requests {
        for connection in &mut connections {
            connection.send("/")?;
        }
        for connection in &mut connections {
            ensure!(connection.receive()?.status == 200, "it did not answer with 200");
        }
    }
    Ok(())
}

fn parse_total(profile: &str) -> anyhow::Result<u64> {
    let line = profile.lines().find_map(|line| line.strip_prefix("totals: "));
    line.context("callgrind gave no total")?.trim().parse().context("callgrind's total is no number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_its_line() {
        let profile = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) main\n1 5\n\ntotals: 123456\n";
        assert_eq!(parse_total(profile).unwrap(), 123_456);
        assert!(parse_total("version: 1\n").is_err());
    }
}
