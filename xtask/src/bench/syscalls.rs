//! System calls a request, counted by strace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;

use super::background::Background;
use super::server::Server;

/// How long the server is traced under load. Tracing makes it many times slower, which does not change the counts much.
pub(super) const LOAD_DURATION: Duration = Duration::from_secs(1);
/// How long strace may take to attach, and to print its table.
const STRACE_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Calls a request, by name.
pub(super) type Syscalls = BTreeMap<String, f64>;

/// Counts the server's calls while `load` runs for the time that it is given, and divides them by what it returns.
pub(super) fn count(
    root: &Path,
    server: &Server,
    load: impl FnOnce(Duration) -> anyhow::Result<u64>,
) -> anyhow::Result<Syscalls> {
    let directory = root.join("target/bench");
    let (table, messages) = (directory.join("strace.table"), directory.join("strace.messages"));
    let processes = server.processes()?;
    let mut strace = start_strace(&processes, &table, &messages)?;
    wait_until_attached(&mut strace, &messages, processes.len())?;
    let requests = load(LOAD_DURATION)?;
    strace.signal(Signal::INT)?;
    strace.wait(STRACE_LIMIT)?;
    let calls = parse_table(&fs::read_to_string(&table)?)?;
    Ok(calls.into_iter().map(|(name, calls)| (name, calls as f64 / requests as f64)).collect())
}

fn start_strace(processes: &BTreeSet<u32>, table: &Path, messages: &Path) -> anyhow::Result<Background> {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-o"]).arg(table);
    for pid in processes {
        command.arg("-p").arg(pid.to_string());
    }
    Background::start(command.stderr(File::create(messages)?))
}

fn wait_until_attached(strace: &mut Background, messages: &Path, processes: usize) -> anyhow::Result<()> {
    let deadline = Instant::now() + STRACE_LIMIT;
    loop {
        let text = fs::read_to_string(messages)?;
        if text.lines().filter(|line| line.contains(" attached")).count() >= processes {
            return Ok(());
        }
        let is_over = strace.ended()?.is_some() || Instant::now() >= deadline;
        ensure!(!is_over, "strace does not attach: {}", text.trim());
        thread::sleep(POLL_INTERVAL);
    }
}

/// Reads strace's table: `% time, seconds, usecs/call, calls, [errors,] syscall`.
fn parse_table(table: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut calls = BTreeMap::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_row = fields.first().is_some_and(|share| share.parse::<f64>().is_ok());
        let ([_, _, _, count, name] | [_, _, _, count, _, name]) = fields[..] else { continue };
        if is_row && name != "total" {
            let count = count.parse().with_context(|| format!("no count of calls in {line:?}"))?;
            calls.insert(name.to_owned(), count);
        }
    }
    ensure!(!calls.is_empty(), "strace counted nothing");
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.12    0.021871           7      3000           sendto
 39.88    0.014508           4      3300       300 recvfrom
  0.00    0.000000           0         1           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.036379           5      6301       300 total
";

    #[test]
    fn calls_are_read_with_and_without_errors() {
        let expected = [("epoll_wait", 1), ("recvfrom", 3300), ("sendto", 3000)];
        let expected = expected.map(|(name, calls)| (name.to_owned(), calls));
        assert_eq!(parse_table(TABLE).unwrap(), BTreeMap::from(expected));
    }

    #[test]
    fn an_empty_table_is_an_error() {
        assert!(parse_table("").is_err());
        assert!(parse_table(TABLE.lines().next().unwrap()).is_err());
    }
}
