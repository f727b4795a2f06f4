//! The load generator for WebSockets: a process that opens sockets, and then does what it is told.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::load_process::LoadProcess;

/// The package of the load generator.
pub(super) const WS_LOAD: &str = "ws-load";
/// How long one process may take to open its sockets: some thousands a second on a slow machine.
const OPEN_LIMIT: Duration = Duration::from_secs(300);
/// What it may take beyond the time that it was asked to run, and for what it answers at once.
const GRACE: Duration = Duration::from_secs(15);
/// How long a publication may take to arrive everywhere.
const DELIVERY_LIMIT: Duration = Duration::from_secs(70);
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
    process: LoadProcess,
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
        let process = LoadProcess::start(&mut command(program, target, mode))?;
        let opened = process.hear(&["opened"], OPEN_LIMIT)?;
        Ok(Self { process, opened })
    }

    pub(super) fn processes(&self) -> BTreeSet<u32> {
        self.process.processes()
    }

    /// Lets an echo or a fan-out of `duration` run, to the end of the process.
    pub(super) fn run(mut self, duration: Duration) -> anyhow::Result<Outcome> {
        self.process.tell("start")?;
        let outcome = self.process.hear(&["exchanged", "delivered"], duration + GRACE)?;
        self.process.wait(GRACE)?;
        Ok(outcome)
    }

    /// How many sockets have been pinged at least once.
    pub(super) fn pinged(&mut self) -> anyhow::Result<u32> {
        #[derive(Deserialize)]
        struct Status {
            pinged: u32,
        }
        self.process.tell("status")?;
        Ok(self.process.hear::<Status>(&["status"], GRACE)?.pinged)
    }

    /// Begins to publish to all sockets of this process.
    pub(super) fn publish(&mut self) -> anyhow::Result<()> {
        self.process.tell("publish")
    }

    /// What came of `publish`.
    pub(super) fn published(&mut self) -> anyhow::Result<Published> {
        self.process.hear(&["published"], DELIVERY_LIMIT)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_echoed_or_delivered_is_an_outcome() {
        let expected = Outcome { count: 30_000, seconds: 1.5, p50_us: 900.0, p99_us: 1200.0 };
        for what in ["messages", "deliveries"] {
            let line = format!(r#"{{"{what}":30000,"seconds":1.5,"p50_us":900,"p99_us":1200}}"#);
            assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), expected);
        }
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
}
