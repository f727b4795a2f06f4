//! One message in flight on each socket, for ever.

use std::thread;
use std::time::Duration;

use anyhow::{anyhow, ensure};

use crate::clock::Moment;
use crate::control::{Event, await_start};
use crate::latencies::Latencies;
use crate::opening::Target;
use crate::sockets::Sockets;

const MESSAGE_BYTES: usize = 64;
/// How long there may be no answer at all.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A message that no other is like.
pub type Numbered = [u8; MESSAGE_BYTES];

/// What a socket waits for.
struct Pending {
    message: Numbered,
    sent: Moment,
}

/// Opens the sockets and, when told to start, exchanges messages for `duration` on so many loops.
pub fn run(target: &Target, duration: Duration, loops: usize) -> anyhow::Result<()> {
    let shares = target.open_shares(loops.min(target.sockets))?;
    await_start()?;
    let end = Moment::now().after(duration);
    let loops: Vec<_> =
        shares.into_iter().map(|sockets| thread::spawn(move || exchange(sockets, end))).collect();
    let mut latencies = Latencies::new();
    for exchanged in loops {
        latencies.add(&exchanged.join().map_err(|_| anyhow!("a loop panicked"))??);
    }
    let exchanged = Event::Exchanged {
        messages: latencies.count(),
        seconds: duration.as_secs_f64(),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
    };
    exchanged.print()
}

fn exchange(mut sockets: Sockets, end: Moment) -> anyhow::Result<Latencies> {
    let mut latencies = Latencies::new();
    let mut pending = Vec::with_capacity(sockets.len());
    for index in 0..sockets.len() {
        pending.push(Pending::new(index as u64));
        sockets.send(index, &pending[index].message, false)?;
    }
    let mut number = pending.len() as u64;
    loop {
        let before = latencies.count();
        sockets.receive(ANSWER_LIMIT, |mut arrival| {
            let pending = &mut pending[arrival.index];
            ensure!(arrival.payload == pending.message, "an echo is not what was sent");
            let now = Moment::now();
            if now >= end {
                return Ok(());
            }
            latencies.record(now.since(pending.sent));
            *pending = Pending { sent: now, ..Pending::new(number) };
            number += 1;
            arrival.reply(&pending.message)
        })?;
        if Moment::now() >= end {
            return Ok(latencies);
        }
        ensure!(latencies.count() > before, "there was no echo for {} s", ANSWER_LIMIT.as_secs());
    }
}

impl Pending {
    fn new(number: u64) -> Self {
        Self { message: numbered(number), sent: Moment::now() }
    }
}

/// The message of this number.
pub fn numbered(number: u64) -> Numbered {
    let mut message = [b'.'; MESSAGE_BYTES];
    for (digit, byte) in message.iter_mut().take(16).enumerate() {
        *byte = b"0123456789abcdef"[(number >> (60 - 4 * digit) & 0xf) as usize];
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_in_hexadecimal_text() {
        assert!(numbered(0x12ab).starts_with(b"00000000000012ab...."));
    }
}
