//! A load generator that is steered: it is told what to do by lines, and says what came of it by lines of JSON.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::background::Background;

/// Lines that may wait to be read.
const MAX_EVENTS: usize = 16;

/// A load generator that runs.
pub(super) struct LoadProcess {
    // Ahead of the process, which takes the end of its input as the wish to end.
    input: ChildStdin,
    process: Background,
    events: Receiver<String>,
}

impl LoadProcess {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let (process, input, output) = Background::start_with_pipes(command)?;
        Ok(Self { input, process, events: read_lines(output) })
    }

    pub(super) fn processes(&self) -> BTreeSet<u32> {
        BTreeSet::from([self.process.pid()])
    }

    pub(super) fn tell(&mut self, command: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{command}").context("telling the load what to do")
    }

    /// The next event, which must have one of these names, and come within `limit`.
    pub(super) fn hear<T: DeserializeOwned>(&self, names: &[&str], limit: Duration) -> anyhow::Result<T> {
        match self.events.recv_timeout(limit) {
            Ok(line) => parse(&line, names),
            Err(RecvTimeoutError::Timeout) => bail!("the load says nothing for {} s", limit.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("the load ended without a word"),
        }
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self, limit: Duration) -> anyhow::Result<()> {
        self.process.wait(limit)?;
        Ok(())
    }
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(MAX_EVENTS);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn parse<T: DeserializeOwned>(line: &str, names: &[&str]) -> anyhow::Result<T> {
    #[derive(Deserialize)]
    struct Event {
        event: String,
        error: Option<String>,
    }
    let event: Event = serde_json::from_str(line).with_context(|| format!("the load said {line:?}"))?;
    match event.error {
        Some(error) => bail!("{error}"),
        None if names.contains(&event.event.as_str()) => {
            serde_json::from_str(line).with_context(|| format!("the load said {line:?}"))
        }
        None => bail!("the load said {line:?} instead of {}", names.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, PartialEq, Debug)]
    struct Opened {
        sockets: u32,
    }

    #[test]
    fn what_was_expected_is_read_and_a_failure_is_an_error() {
        let line = r#"{"event":"opened","sockets":3}"#;
        assert_eq!(parse::<Opened>(line, &["began", "opened"]).unwrap(), Opened { sockets: 3 });
        assert!(parse::<Opened>(line, &["exchanged"]).is_err());
        let failed = r#"{"event":"failed","error":"the server closed a connection"}"#;
        let error = parse::<Opened>(failed, &["opened"]).unwrap_err();
        assert_eq!(error.to_string(), "the server closed a connection");
    }

    #[test]
    fn what_it_is_told_arrives_and_its_end_is_an_error() {
        let mut load = LoadProcess::start(&mut Command::new("cat")).unwrap();
        load.tell(r#"{"event":"opened","sockets":1}"#).unwrap();
        let limit = Duration::from_secs(10);
        assert_eq!(load.hear::<Opened>(&["opened"], limit).unwrap(), Opened { sockets: 1 });
        let load = LoadProcess::start(&mut Command::new("true")).unwrap();
        let error = load.hear::<Opened>(&["opened"], limit).unwrap_err();
        assert_eq!(error.to_string(), "the load ended without a word");
    }
}
