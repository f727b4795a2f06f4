//! Sockets that are open and say nothing until they are told to.

use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use anyhow::{bail, ensure};

use crate::clock::Moment;
use crate::control::{Event, read_commands};
use crate::opening::Target;
use crate::publication::Publications;

/// How long a command may wait for its turn.
const TURN: Duration = Duration::from_millis(20);

/// Opens the sockets and does what the standard input says, until it says `close` or ends.
pub fn run(target: &Target, limit: Duration) -> anyhow::Result<()> {
    let start = Moment::now();
    let mut sockets = target.open()?;
    let commands = read_commands();
    let mut publications = Publications::new(sockets.len());
    let end = start.after(limit);
    loop {
        sockets.receive(TURN, |_| bail!("a message came that nobody published"))?;
        match commands.try_recv().as_deref() {
            Ok("status") => Event::Status { pings: sockets.pings, pinged: sockets.pinged() }.print()?,
            Ok("publish") => {
                let delivered = publications.publish(&mut sockets)?;
                let (published_ns, last_receipt_ns) = (delivered.published, delivered.last_receipt);
                Event::Published { published_ns, last_receipt_ns }.print()?;
            }
            Ok("close") | Err(TryRecvError::Disconnected) => return Ok(()),
            Ok(other) => bail!("{other:?} is no command"),
            Err(TryRecvError::Empty) => {}
        }
        ensure!(Moment::now() < end, "nobody said `close` for {} s", limit.as_secs());
    }
}
