//! The load generator wrk, with the script that makes it print figures instead of prose.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

use super::background::Background;

/// Below the root of the repository.
const SCRIPT: &str = "bench/load.lua";
/// What the script's line begins with.
const MARK: &str = "tayet-bench ";
const THREADS: u32 = 2;
/// What wrk may take beyond the time that it was asked to run.
const GRACE: Duration = Duration::from_secs(10);

/// What to send over how many connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Load {
    pub(super) connections: u32,
    pub(super) shape: Shape,
    /// An `Accept-Encoding` that each request has.
    pub(super) header: Option<&'static str>,
}

/// How requests follow each other on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// One at a time, for ever.
    KeptAlive,
    /// So many at once.
    Pipelined(u32),
    /// One at a time, and a new connection after so many in the mean.
    Closing(u32),
    /// One at a time, for ever, each with a body of so many bytes that comes back.
    Posting(u32),
}

/// A load that has begun.
pub(super) struct Running {
    wrk: Background,
    limit: Duration,
    /// Of an answer.
    least_bytes: u64,
}

/// What came of a load.
#[derive(PartialEq, Debug)]
pub(super) struct Outcome {
    pub(super) requests: u64,
    /// Heads included.
    pub(super) bytes: u64,
    pub(super) duration: Duration,
    pub(super) p50_us: f64,
    /// Absent when wrk recorded too few latencies to know.
    pub(super) p99_us: Option<f64>,
    pub(super) errors: u64,
}

impl Load {
    /// Starts wrk on `http://ADDRESS PATH` for `duration`.
    pub(super) fn start(
        self,
        root: &Path,
        address: SocketAddr,
        path: &str,
        duration: Duration,
    ) -> anyhow::Result<Running> {
        let mut command = Command::new("wrk");
        command.arg("--threads").arg(THREADS.min(self.connections).to_string());
        command.arg("--connections").arg(self.connections.to_string());
        // Whole seconds are all that wrk takes.
        let seconds = duration.as_secs().max(1);
        command.arg("--duration").arg(format!("{seconds}s")).arg("--script").arg(root.join(SCRIPT));
        command.args(self.header.map(|header| format!("--header={header}")));
        command.arg(format!("http://{address}{path}")).arg("--").args(self.shape.arguments());
        let wrk = Background::start(command.stdout(Stdio::piped()))?;
        let limit = Duration::from_secs(seconds) + GRACE;
        Ok(Running { wrk, limit, least_bytes: self.shape.least_answer_bytes() })
    }
}

impl Running {
    /// Waits for the end of the load.
    pub(super) fn finish(mut self) -> anyhow::Result<Outcome> {
        let status = self.wrk.wait(self.limit)?;
        let output = self.wrk.output()?;
        ensure!(status.success(), "wrk failed ({status}): {output}");
        let outcome = parse(&output)?;
        let mean_bytes = outcome.bytes / outcome.requests;
        ensure!(mean_bytes >= self.least_bytes, "an answer had {mean_bytes} bytes in the mean");
        Ok(outcome)
    }
}

impl Shape {
    fn arguments(self) -> Vec<String> {
        match self {
            Self::KeptAlive => Vec::new(),
            Self::Pipelined(depth) => vec!["pipelined".to_owned(), depth.to_string()],
            Self::Closing(requests) => vec!["closing".to_owned(), requests.to_string()],
            Self::Posting(bytes) => vec!["posting".to_owned(), bytes.to_string()],
        }
    }

    fn least_answer_bytes(self) -> u64 {
        if let Self::Posting(bytes) = self { bytes.into() } else { 0 }
    }
}

fn parse(output: &str) -> anyhow::Result<Outcome> {
    let line = output.lines().find_map(|line| line.strip_prefix(MARK)).context("wrk printed no figures")?;
    let pairs: BTreeMap<&str, u64> = line
        .split_whitespace()
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((name, value.parse().ok()?))
        })
        .collect::<Option<_>>()
        .with_context(|| format!("wrk's figures are not as expected: {line}"))?;
    let value = |name: &str| pairs.get(name).copied().with_context(|| format!("wrk gave no {name}: {line}"));
    let requests = value("requests")?;
    ensure!(requests > 0, "no request was answered ({line})");
    let p99_us = value("p99_us")? as f64;
    Ok(Outcome {
        requests,
        bytes: value("bytes")?,
        duration: Duration::from_micros(value("duration_us")?),
        p50_us: value("p50_us")? as f64,
        p99_us: (p99_us > 0.0).then_some(p99_us),
        errors: ["connect", "read", "write", "status", "timeout"]
            .iter()
            .try_fold(0, |sum, kind| anyhow::Ok(sum + value(kind)?))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Running 1s test @ http://127.0.0.1:1/\n  2 threads and 64 connections\n\
        tayet-bench requests=139335 bytes=7000000 duration_us=1002236 p50_us=278 p99_us=4179 \
        connect=1 read=2 write=3 status=4 timeout=5\n";

    #[test]
    fn figures_are_read_from_the_marked_line() {
        let expected = Outcome {
            requests: 139_335,
            bytes: 7_000_000,
            duration: Duration::from_micros(1_002_236),
            p50_us: 278.0,
            p99_us: Some(4179.0),
            errors: 15,
        };
        assert_eq!(parse(OUTPUT).unwrap(), expected);
    }

    #[test]
    fn a_percentile_that_wrk_does_not_know_is_absent() {
        assert_eq!(parse(&OUTPUT.replace("p99_us=4179", "p99_us=0")).unwrap().p99_us, None);
    }

    #[test]
    fn no_answer_at_all_is_an_error() {
        let error = parse(&OUTPUT.replace("requests=139335", "requests=0")).unwrap_err();
        assert!(error.to_string().starts_with("no request was answered"), "{error}");
    }

    #[test]
    fn missing_and_malformed_figures_are_errors() {
        assert_eq!(parse("Running 1s test").unwrap_err().to_string(), "wrk printed no figures");
        assert!(parse(&OUTPUT.replace("p50_us=278 ", "")).is_err());
        assert!(parse(&OUTPUT.replace("278", "-278")).is_err());
    }
}
