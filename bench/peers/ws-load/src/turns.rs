//! Short turns: sockets to several servers stay open, and one server at a time has messages in flight, one on each of its own.

use std::thread;

use anyhow::{anyhow, ensure};

use crate::clock::Moment;
use crate::echo::{ANSWER_LIMIT, Numbered, numbered};
use crate::opening::Target;
use crate::sockets::Sockets;

/// Opens the sockets to all targets, each on so many loops, and takes turns as `turn_taking` says.
pub fn run(targets: &[Target], loops: usize) -> anyhow::Result<()> {
    let open = |target: &Target| target.open_shares_quietly(loops.min(target.sockets));
    let mut servers = targets.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let sockets = targets.iter().map(|target| target.sockets).sum();
    turn_taking::take_turns(sockets, targets.len(), |server, duration| {
        let end = Moment::now().after(duration);
        thread::scope(|scope| {
            let shares = servers[server].iter_mut();
            let loops: Vec<_> =
                shares.map(|sockets| scope.spawn(move || Exchange::begin(sockets)?.go_on(end))).collect();
            let exchanged = loops.into_iter().map(|exchanged| {
                exchanged.join().map_err(|_| anyhow!("a loop panicked")).and_then(|count| count)
            });
            exchanged.sum()
        })
    })
}

/// A loop's turn.
struct Exchange<'a> {
    sockets: &'a mut Sockets,
    /// What each socket waits for.
    pending: Vec<Numbered>,
    /// How many still wait.
    waiting: usize,
}

impl<'a> Exchange<'a> {
    /// Sends a message on each socket.
    fn begin(sockets: &'a mut Sockets) -> anyhow::Result<Self> {
        let pending: Vec<_> = (0..sockets.len() as u64).map(numbered).collect();
        for (index, message) in pending.iter().enumerate() {
            sockets.send(index, message, false)?;
        }
        Ok(Self { waiting: pending.len(), sockets, pending })
    }

    /// Sends another one whenever one is back, until `end`, and waits for the last. How many came back: all that were sent.
    fn go_on(self, end: Moment) -> anyhow::Result<u64> {
        let Self { sockets, mut pending, mut waiting } = self;
        let mut count = 0;
        while waiting > 0 {
            let before = (count, sockets.pings);
            sockets.receive(ANSWER_LIMIT, |mut arrival| {
                let message = &mut pending[arrival.index];
                ensure!(arrival.payload == message, "an echo is not what was sent");
                count += 1;
                if Moment::now() >= end {
                    waiting -= 1;
                    return Ok(());
                }
                *message = numbered(count + waiting as u64);
                arrival.reply(message)
            })?;
            ensure!((count, sockets.pings) != before, "there was no echo for {} s", ANSWER_LIMIT.as_secs());
        }
        Ok(count)
    }
}
