//! Sockets that are open and say nothing until they are told to.

use std::io;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure};
use serde::Serialize;

use crate::clock::Moment;
use crate::opening::Target;
use crate::publication::Publications;

/// How long a command may wait for its turn.
const TURN: Duration = Duration::from_millis(20);
/// Commands that may wait.
const MAX_COMMANDS: usize = 16;

/// What happened, each on a line of its own.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Opened { sockets: usize, seconds: f64 },
    Status { pings: u64, pinged: usize },
    Published { published_ns: Moment, last_receipt_ns: Moment },
}

/// Opens the sockets and does what the standard input says, until it says `close` or ends.
pub fn run(target: &Target, limit: Duration, print: fn(&Event) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let start = Moment::now();
    let commands = read_commands();
    let mut sockets = target.open()?;
    let seconds = Moment::now().since(start).as_secs_f64();
    print(&Event::Opened { sockets: sockets.len(), seconds })?;
    let mut publications = Publications::new(sockets.len());
    let end = start.after(limit);
    loop {
        sockets.receive(TURN, |_| bail!("a message came that nobody published"))?;
        match commands.try_recv().as_deref() {
            Ok("status") => print(&Event::Status { pings: sockets.pings, pinged: sockets.pinged() })?,
            Ok("publish") => {
                let delivered = publications.publish(&mut sockets)?;
                let (published_ns, last_receipt_ns) = (delivered.published, delivered.last_receipt);
                print(&Event::Published { published_ns, last_receipt_ns })?;
            }
            Ok("close") | Err(TryRecvError::Disconnected) => return Ok(()),
            Ok(other) => bail!("{other:?} is no command"),
            Err(TryRecvError::Empty) => {}
        }
        ensure!(Moment::now() < end, "nobody said `close` for {} s", limit.as_secs());
    }
}

fn read_commands() -> Receiver<String> {
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
