//! The load generator for WebSockets: a process that opens sockets, and then does what it is told.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::background::Background;

/// The package of the load generator.
pub(super) const WS_LOAD: &str = "ws-load";
/// How long one process may take to open its sockets: some thousands a second on a slow machine.
const OPEN_LIMIT: Duration = Duration::from_secs(300);
/// What it may take beyond the time that it was asked to run, and for what it answers at once.
const GRACE: Duration = Duration::from_secs(15);
/// How long a publication may take to arrive everywhere.
const DELIVERY_LIMIT: Duration = Duration::from_secs(70);
/// Lines that may wait to be read.
const MAX_EVENTS: usize = 16;
/// An address has some 28,000 ports to connect from; few of many are found sooner than the last ones.
const SOCKETS_PER_SOURCE: u32 = 4_000;
/// Each process connects from addresses of its own, so many apart.
const SOURCES_PER_PROCESS: u32 = 256;
const FIRST_SOURCE: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);

/// What one process opens.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) address: SocketAddr,
    pub(super) path: &'a str,
    pub(super) sockets: u32,
    /// Which of the processes it is that run at the same time.
    pub(super) process: u32,
}

/// What it does with them.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    /// A message of 64 bytes in flight on each.
    Echo { loops: u32, duration: Duration },
    /// A message of 128 bytes published to all, then the next one.
    FanOut { duration: Duration },
    /// Nothing, but to answer pings and to publish when told to. With deflate, a message of 2,000 bytes has been
    /// exchanged on each first.
    Idle { deflate: bool },
}

/// A load whose sockets are open.
pub(super) struct WsLoad {
    // Ahead of the process, which takes the end of its input as the wish to end.
    input: ChildStdin,
    process: Background,
    events: Receiver<String>,
    pub(super) opened: Opened,
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct Opened {
    pub(super) sockets: u32,
    pub(super) seconds: f64,
}

/// How much was echoed or delivered, and how long each took: to the echo, or to a publication's last receipt.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct Outcome {
    #[serde(alias = "messages", alias = "deliveries")]
    pub(super) count: u64,
    pub(super) seconds: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// A publication, by a clock that all processes share.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct Published {
    pub(super) published_ns: u64,
    pub(super) last_receipt_ns: u64,
}

impl WsLoad {
    /// Starts `program` and returns when the sockets are open.
    pub(super) fn open(program: &Path, target: Target<'_>, mode: Mode) -> anyhow::Result<Self> {
        let (process, input, output) = Background::start_with_pipes(&mut command(program, target, mode))?;
        let events = read_lines(output);
        let opened = receive(&events, &["opened"], OPEN_LIMIT)?;
        Ok(Self { input, process, events, opened })
    }

    pub(super) fn processes(&self) -> BTreeSet<u32> {
        BTreeSet::from([self.process.pid()])
    }

    /// Lets an echo or a fan-out of `duration` run, to the end of the process.
    pub(super) fn run(mut self, duration: Duration) -> anyhow::Result<Outcome> {
        self.tell("start")?;
        let outcome = receive(&self.events, &["exchanged", "delivered"], duration + GRACE)?;
        self.process.wait(GRACE)?;
        Ok(outcome)
    }

    /// How many sockets have been pinged at least once.
    pub(super) fn pinged(&mut self) -> anyhow::Result<u32> {
        #[derive(Deserialize)]
        struct Status {
            pinged: u32,
        }
        self.tell("status")?;
        Ok(receive::<Status>(&self.events, &["status"], GRACE)?.pinged)
    }

    /// Begins to publish to all sockets of this process.
    pub(super) fn publish(&mut self) -> anyhow::Result<()> {
        self.tell("publish")
    }

    /// What came of `publish`.
    pub(super) fn published(&mut self) -> anyhow::Result<Published> {
        receive(&self.events, &["published"], DELIVERY_LIMIT)
    }

    fn tell(&mut self, command: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{command}").context("telling the load what to do")
    }
}

fn command(program: &Path, target: Target<'_>, mode: Mode) -> Command {
    let mut command = Command::new(program);
    match mode {
        Mode::Echo { loops, duration } => {
            command.args(["echo", "--loops", &loops.to_string()]);
            command.args(["--seconds", &duration.as_secs().to_string()]);
        }
        Mode::FanOut { duration } => {
            command.args(["fanout", "--seconds", &duration.as_secs().to_string()]);
        }
        Mode::Idle { deflate } => {
            command.arg("idle").args(deflate.then_some("--deflate"));
        }
    }
    let source = Ipv4Addr::from_bits(FIRST_SOURCE.to_bits() + target.process * SOURCES_PER_PROCESS);
    let sources = target.sockets.div_ceil(SOCKETS_PER_SOURCE);
    command.args(["--address", &target.address.to_string(), "--path", target.path]);
    command.args(["--sockets", &target.sockets.to_string()]);
    command.args(["--source", &source.to_string(), "--sources", &sources.to_string()]);
    command
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

fn receive<T: DeserializeOwned>(
    events: &Receiver<String>,
    names: &[&str],
    limit: Duration,
) -> anyhow::Result<T> {
    match events.recv_timeout(limit) {
        Ok(line) => parse(&line, names),
        Err(RecvTimeoutError::Timeout) => bail!("the load says nothing for {} s", limit.as_secs()),
        Err(RecvTimeoutError::Disconnected) => bail!("the load ended without a word"),
    }
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

    #[test]
    fn what_was_expected_is_read_and_a_failure_is_an_error() {
        let line = r#"{"event":"delivered","deliveries":30000,"seconds":1.5,"p50_us":900,"p99_us":1200}"#;
        let expected = Outcome { count: 30_000, seconds: 1.5, p50_us: 900.0, p99_us: 1200.0 };
        assert_eq!(parse::<Outcome>(line, &["exchanged", "delivered"]).unwrap(), expected);
        assert!(parse::<Opened>(line, &["opened"]).is_err());
        let failed = r#"{"event":"failed","error":"the server closed a connection"}"#;
        let error = parse::<Opened>(failed, &["opened"]).unwrap_err();
        assert_eq!(error.to_string(), "the server closed a connection");
    }

    #[test]
    fn each_process_connects_from_as_many_addresses_of_its_own_as_it_needs() {
        let address = "127.0.0.1:80".parse().unwrap();
        let target = Target { address, path: "/ws", sockets: 18_000, process: 2 };
        let command = command(Path::new("ws-load"), target, Mode::Idle { deflate: true });
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(&words[..2], ["idle", "--deflate"]);
        assert!(words.ends_with(&["--source", "127.1.2.1", "--sources", "5"]), "{words:?}");
    }

    #[test]
    fn a_load_that_ends_at_once_is_an_error() {
        let address = "127.0.0.1:80".parse().unwrap();
        let target = Target { address, path: "/ws", sockets: 1, process: 0 };
        let error = WsLoad::open(Path::new("true"), target, Mode::Idle { deflate: false });
        assert_eq!(error.err().unwrap().to_string(), "the load ended without a word");
    }
}
