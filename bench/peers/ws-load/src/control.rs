//! How whoever started the load steers it: lines in, lines of JSON out.

use std::io;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::ensure;
use serde::Serialize;

use crate::clock::Moment;

/// Commands that may wait.
const MAX_COMMANDS: usize = 16;

/// What happened, each on a line of its own.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Opened {
        sockets: usize,
        seconds: f64,
    },
    Exchanged {
        messages: u64,
        seconds: f64,
        p50_us: u64,
        p99_us: u64,
    },
    /// Latencies are from a publication to its last receipt.
    Delivered {
        deliveries: u64,
        seconds: f64,
        p50_us: u64,
        p99_us: u64,
    },
    /// `pinged` is how many sockets were pinged at least once.
    Status {
        pings: u64,
        pinged: usize,
    },
    Published {
        published_ns: Moment,
        last_receipt_ns: Moment,
    },
    /// The load ends with this.
    Failed {
        error: String,
    },
}

impl Event {
    pub fn print(&self) -> anyhow::Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

/// Waits for the line `start`.
pub fn await_start() -> anyhow::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    ensure!(line.trim_end() == "start", "{line:?} instead of `start`");
    Ok(())
}

/// The lines of the standard input, up to its end.
pub fn read_commands() -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(MAX_COMMANDS);
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
