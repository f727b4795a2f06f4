//! Open WebSockets that say nothing: what they take, whether all can be pinged, and how soon all have a publication.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::Harness;
use super::clocks::Clocks;
use super::figure::{Figure, Figures};
use super::process_stat::resident_bytes;
use super::progress::Bar;
use super::server::Server;
use super::system_limits::{RaisedLimits, allow_descriptors};
use super::system_memory::{available_bytes, kernel_bytes};
use super::ws_load::{Mode, Target, WS_LOAD, WsLoad};

/// What a process needs beside its sockets: the server keeps some descriptors in reserve, too.
const RESERVED_DESCRIPTORS: u64 = 2_000;
/// What is left to everything else on the machine, in bytes.
const MIN_AVAILABLE_BYTES: u64 = 2 << 30;
/// What a socket may take at most, with both of its ends and its share of both processes. Only a guess is possible
/// before there are any.
const MAX_BYTES_PER_SOCKET: u64 = 16 << 10;
/// How long memory may take to settle after the last socket was opened.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// How long a few sockets are silent until they are pinged: longer than it takes to measure what they cost idle.
const PING_AFTER: Duration = Duration::from_secs(15);
const MIN_SOCKETS_OPENED_PER_SECOND: u32 = 5_000;
/// How long the last ping may be overdue.
const PING_GRACE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How many sockets to hold, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Idle {
    pub(super) sockets: u32,
    /// Whether sockets negotiate permessage-deflate and use it once. They echo then, and are in no topic.
    pub(super) deflate: bool,
}

impl Idle {
    /// After how much silence a server pings that can be told to. It is longer than opening all takes, or else those
    /// that were opened first would be pinged over and over meanwhile.
    pub(super) fn ping_after(self) -> Duration {
        PING_AFTER + Duration::from_secs(u64::from(self.sockets / MIN_SOCKETS_OPENED_PER_SECOND))
    }
}

/// A server and the load that holds its sockets.
struct Pair {
    load: WsLoad,
    server: Server,
    processes: BTreeSet<u32>,
    /// Resident before the first socket.
    empty_bytes: u64,
}

/// Holds the sockets, on as many servers from `start` as it takes, and measures.
pub(super) fn measure(
    harness: &Harness<'_>,
    idle: Idle,
    start: impl Fn() -> anyhow::Result<Server>,
) -> anyhow::Result<Figures> {
    let descriptors = allow_descriptors(u64::from(idle.sockets) + RESERVED_DESCRIPTORS);
    let shares = shares(idle.sockets, descriptors)?;
    // Ahead of the pairs, so that limits are lowered when the sockets are gone.
    let _limits = RaisedLimits::for_connections(u64::from(idle.sockets));
    let kernel_before = kernel_bytes()?;
    let mut pairs = gather(harness, idle, &shares, start)?;
    thread::sleep(SETTLE_TIME);
    let kernel = kernel_bytes()?.saturating_sub(kernel_before) as f64;
    let sockets = f64::from(sockets_of(&pairs));
    ensure!(sockets > 0.0, "there is too little free memory to begin with");
    let mut own_bytes = 0;
    for pair in &pairs {
        own_bytes += resident_bytes(&pair.processes)?.saturating_sub(pair.empty_bytes);
    }
    let mut figures = Figures::from([
        (Figure::Sockets, sockets),
        (Figure::ServerProcesses, pairs.iter().map(|pair| pair.processes.len()).sum::<usize>() as f64),
        (Figure::OpenSeconds, pairs.iter().map(|pair| pair.load.opened.seconds).sum()),
        (Figure::BytesPerSocket, own_bytes as f64 / sockets),
        (Figure::KernelBytesPerSocketPair, kernel / sockets),
        (Figure::IdleCpuPercent, idle_cpu_percent(&pairs, harness.settings.load_duration())?),
    ]);
    if pairs[0].server.pings {
        figures.insert(Figure::Pinged, f64::from(await_pings(harness, &mut pairs, idle.ping_after())?));
    }
    if !idle.deflate {
        figures.insert(Figure::LastReceiptMs, publish(&mut pairs)?);
    }
    Ok(figures)
}

/// How many sockets each process holds; as few processes as their descriptors allow.
fn shares(sockets: u32, descriptors: u64) -> anyhow::Result<Vec<u32>> {
    let most = descriptors.saturating_sub(RESERVED_DESCRIPTORS);
    ensure!(most > 0, "{descriptors} descriptors are too few");
    let count = u32::try_from(u64::from(sockets).div_ceil(most))?;
    Ok((0..count).map(|index| sockets / count + u32::from(index < sockets % count)).collect())
}

/// Opens all, one process after the other, or as many as leave the machine enough memory.
fn gather(
    harness: &Harness<'_>,
    idle: Idle,
    shares: &[u32],
    start: impl Fn() -> anyhow::Result<Server>,
) -> anyhow::Result<Vec<Pair>> {
    let bar = (shares.len() > 1).then(|| {
        // What is being measured stands on the line above.
        println!();
        Bar::new("sockets", u64::from(idle.sockets))
    });
    let mut pairs = Vec::new();
    for (process, &sockets) in (0..).zip(shares) {
        harness.check_interrupt()?;
        let available = available_bytes()?;
        if !fits(sockets, available) {
            eprintln!("bench: only {} MB are free, so there will be no more sockets", available / 1_000_000);
            break;
        }
        pairs.push(Pair::open(harness, idle, start()?, (process, sockets))?);
        if let Some(bar) = &bar {
            let remark = format!(", {:.1} GB free", available_bytes()? as f64 / 1e9);
            bar.show(u64::from(sockets_of(&pairs)), &remark);
        }
    }
    if let Some(bar) = bar {
        bar.end();
    }
    Ok(pairs)
}

/// Whether so many more sockets leave the machine enough of the `available` bytes.
fn fits(sockets: u32, available: u64) -> bool {
    available >= MIN_AVAILABLE_BYTES + u64::from(sockets) * MAX_BYTES_PER_SOCKET
}

impl Pair {
    fn open(
        harness: &Harness<'_>,
        idle: Idle,
        server: Server,
        (process, sockets): (u32, u32),
    ) -> anyhow::Result<Self> {
        let processes = server.processes()?;
        let empty_bytes = resident_bytes(&processes)?;
        let target = Target { address: server.address, path: &server.path, sockets, process };
        let mode = Mode::Idle { deflate: idle.deflate };
        let load = WsLoad::open(harness.programs.helper(WS_LOAD)?, target, mode)?;
        Ok(Self { load, server, processes, empty_bytes })
    }
}

fn sockets_of(pairs: &[Pair]) -> u32 {
    pairs.iter().map(|pair| pair.load.opened.sockets).sum()
}

/// What all servers together use of a core while nobody says anything.
fn idle_cpu_percent(pairs: &[Pair], duration: Duration) -> anyhow::Result<f64> {
    let processes = pairs.iter().flat_map(|pair| pair.processes.iter().copied()).collect();
    let start = Instant::now();
    let before = Clocks::read(&processes)?;
    thread::sleep(duration);
    let usage = Clocks::read(&processes)?.since(&before);
    Ok(usage.cpu_us_per(1.0) / start.elapsed().as_secs_f64() / 1e6 * 100.0)
}

/// Waits until the servers have pinged all, or should have long ago; says how many they have.
fn await_pings(harness: &Harness<'_>, pairs: &mut [Pair], ping_after: Duration) -> anyhow::Result<u32> {
    let deadline = Instant::now() + ping_after + PING_GRACE;
    let sockets = sockets_of(pairs);
    loop {
        harness.check_interrupt()?;
        let mut pinged = 0;
        for pair in &mut *pairs {
            pinged += pair.load.pinged()?;
        }
        if pinged == sockets || Instant::now() >= deadline {
            return Ok(pinged);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Publishes to all, on all servers at once; says how many milliseconds passed from the first publication to the last
/// receipt.
fn publish(pairs: &mut [Pair]) -> anyhow::Result<f64> {
    for pair in &mut *pairs {
        pair.load.publish()?;
    }
    let published: Vec<_> =
        pairs.iter_mut().map(|pair| pair.load.published()).collect::<anyhow::Result<_>>()?;
    let first = published.iter().map(|one| one.published_ns).min().context("nothing was published")?;
    let last = published.iter().map(|one| one.last_receipt_ns).max().context("nothing was received")?;
    Ok(Duration::from_nanos(last.saturating_sub(first)).as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_wait_until_all_are_open() {
        let after = |sockets| Idle { sockets, deflate: false }.ping_after().as_secs();
        assert_eq!([after(18_000), after(1_000_000)], [18, 215]);
    }

    #[test]
    fn sockets_that_would_leave_the_machine_too_little_memory_are_not_opened() {
        let needed = MIN_AVAILABLE_BYTES + 18_000 * MAX_BYTES_PER_SOCKET;
        assert!(fits(18_000, needed));
        assert!(!fits(18_000, needed - 1));
    }

    #[test]
    fn sockets_are_shared_out_over_as_few_processes_as_can_hold_them() {
        assert_eq!(shares(18_000, 20_000).unwrap(), [18_000]);
        let million = shares(1_000_000, 20_000).unwrap();
        assert_eq!((million.len(), million.iter().sum::<u32>()), (56, 1_000_000));
        assert!(million.iter().all(|sockets| *sockets <= 18_000));
        assert_eq!(shares(1_000_000, 1_100_000).unwrap(), [1_000_000]);
        assert!(shares(1, 2_000).is_err());
    }
}
