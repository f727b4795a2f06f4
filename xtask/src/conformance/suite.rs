//! The suite's own program, installed and run.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use serde_json::json;

use super::python::Python;
use super::report::Skip;
use crate::bench::background::Background;
use crate::bench::progress::Bar;
use crate::process::{Runner, output_of};

/// The versions that the checks were written for; the last that Python 2.7 runs.
const SUITE: &str = "autobahntestsuite==25.10.1";
const VIRTUALENV: &str = "virtualenv==20.15.1";
const INSTALL_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Where nobody watches, only every so many cases are told.
const CASES_A_LINE: u64 = 50;
/// How the suite calls the server in its reports.
pub(super) const AGENT: &str = "tayet";
/// How its lines begin that list the cases, and that tell where it is.
const CASES: &str = "Cases = ";
const RUNNING: &str = "Running test case ID ";

/// The installed suite.
pub(super) struct Suite {
    directory: PathBuf,
}

/// A run that has ended.
pub(super) struct Run {
    /// The cases that were to be run.
    pub(super) cases: BTreeSet<String>,
    pub(super) reports: PathBuf,
}

impl Suite {
    /// Installs the suite below `directory`, unless it is there.
    pub(super) fn install(runner: &Runner, python: &Python, directory: &Path) -> anyhow::Result<Self> {
        let suite = Self { directory: directory.to_owned() };
        if suite.is_installed() {
            return Ok(suite);
        }
        let bootstrap = directory.join("bootstrap");
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let mut command = python.command();
        runner.run(command.args(pip).arg("--target").arg(&bootstrap).arg(VIRTUALENV), INSTALL_LIMIT)?;
        let mut command = python.command();
        command.args(["-m", "virtualenv", "--quiet", "--clear"]).arg(directory.join("venv"));
        runner.run(command.env("PYTHONPATH", &bootstrap), INSTALL_LIMIT)?;
        let mut command = suite.python();
        runner.run(command.args(pip).arg(SUITE), INSTALL_LIMIT)?;
        ensure!(suite.is_installed(), "{SUITE} was installed and does not start");
        Ok(suite)
    }

    /// Runs those of `cases` that aren't skipped against the server at `url`, and shows how far it is.
    pub(super) fn run(
        &self,
        url: &str,
        cases: &[&str],
        skips: &[Skip],
        limit: Duration,
    ) -> anyhow::Result<Run> {
        let reports = self.directory.join("reports");
        if reports.exists() {
            fs::remove_dir_all(&reports)?;
        }
        let skipped: Vec<_> = skips.iter().map(|skip| &skip.case).collect();
        let specification = json!({
            "outdir": reports,
            "servers": [{ "agent": AGENT, "url": url }],
            "cases": cases,
            "exclude-cases": skipped,
            "exclude-agent-cases": {},
        });
        let path = self.directory.join("specification.json");
        fs::write(&path, specification.to_string())?;
        let mut command = self.python();
        command.arg("-u").arg(self.directory.join("venv/bin/wstest"));
        command.args(["-m", "fuzzingclient", "-s"]).arg(&path).current_dir(&self.directory);
        let deadline = Instant::now() + limit;
        let (mut process, _, output) = Background::start_with_pipes(&mut command)?;
        let cases = follow(output, deadline)?;
        let status = process.wait(deadline.saturating_duration_since(Instant::now()))?;
        ensure!(status.success(), "the suite failed ({status})");
        Ok(Run { cases, reports })
    }

    fn is_installed(&self) -> bool {
        let version = "import autobahntestsuite; print(autobahntestsuite.version)";
        let version = output_of(self.python().args(["-c", version]));
        version.is_ok_and(|version| SUITE.ends_with(&format!("=={}", version.trim())))
    }

    fn python(&self) -> Command {
        Command::new(self.directory.join("venv/bin/python"))
    }
}

/// Shows how far the suite is until it ends; the cases that it runs.
fn follow(output: ChildStdout, deadline: Instant) -> anyhow::Result<BTreeSet<String>> {
    let lines = lines_of(output);
    let (mut cases, mut begun, mut bar) = (BTreeSet::new(), 0, Bar::new("cases", 0));
    loop {
        let line = match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => bail!("the suite was not done in time, at case {begun}"),
        };
        if let Some(list) = line.strip_prefix(CASES) {
            cases = parse_cases(list);
            bar = Bar::new("cases", cases.len() as u64);
        } else if let Some(running) = line.strip_prefix(RUNNING) {
            begun += 1;
            if std::io::stdout().is_terminal() || begun % CASES_A_LINE == 1 {
                let case = running.split_whitespace().next().unwrap_or_default();
                bar.show(begun, &format!(", at {case:<8}"));
            }
        }
    }
    bar.end();
    Ok(cases)
}

/// The lines that come out of a pipe, read beside, so that waiting for one can end.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.map(|line| sender.send(line)).all(|sent| sent.is_ok())
    });
    receiver
}

/// The cases of a list as Python writes it: `['1.1.1', '1.1.2']`.
fn parse_cases(list: &str) -> BTreeSet<String> {
    list.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cases_is_understood() {
        let cases = parse_cases("['1.1.1', '10.1.1', '2.1']");
        assert_eq!(Vec::from_iter(cases), ["1.1.1", "10.1.1", "2.1"]);
        assert!(parse_cases("[]").is_empty());
    }
}
