//! Messages over WebSockets: there and back, and from one to all.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Harness;
use super::clocks::{Clocks, Usage};
use super::figure::{Figure, Figures};
use super::process_stat::peak_resident_bytes;
use super::server::Server;
use super::system_limits::require_descriptors;
use super::ws_load::{Mode, Outcome, Target, WS_LOAD, WsLoad};

/// As many as wrk has threads.
const ECHO_LOOPS: u32 = 2;
const WARM_UP: Duration = Duration::from_secs(1);
/// What a process needs beside its sockets.
const RESERVED_DESCRIPTORS: usize = 500;

/// One message in flight on each socket.
pub(super) fn echo(harness: &Harness<'_>, server: &Server, sockets: u32) -> anyhow::Result<Figures> {
    let mode = |duration| Mode::Echo { loops: ECHO_LOOPS, duration };
    let (outcome, usage) = measure(harness, server, sockets, mode)?;
    let count = outcome.count as f64;
    let mut figures = common(server, &usage)?;
    figures.extend([
        (Figure::MessagesPerSecond, count / outcome.seconds),
        (Figure::P50Us, outcome.p50_us),
        (Figure::P99Us, outcome.p99_us),
        (Figure::CpuUsPerMessage, usage.cpu_us_per(count)),
        (Figure::UserUsPerMessage, usage.user_us_per(count)),
    ]);
    Ok(figures)
}

/// The load of `echo`, ready to run for `duration`.
pub(super) fn open_echo(
    harness: &Harness<'_>,
    server: &Server,
    sockets: u32,
    duration: Duration,
) -> anyhow::Result<WsLoad> {
    open(harness, server, sockets, Mode::Echo { loops: ECHO_LOOPS, duration })
}

/// One publication in flight to all sockets.
pub(super) fn fan_out(harness: &Harness<'_>, server: &Server, sockets: u32) -> anyhow::Result<Figures> {
    let (outcome, usage) = measure(harness, server, sockets, |duration| Mode::FanOut { duration })?;
    let count = outcome.count as f64;
    let mut figures = common(server, &usage)?;
    figures.extend([
        (Figure::DeliveriesPerSecond, count / outcome.seconds),
        (Figure::CpuUsPerDelivery, usage.cpu_us_per(count)),
        (Figure::UserUsPerDelivery, usage.user_us_per(count)),
        (Figure::LastReceiptP50Ms, outcome.p50_us / 1e3),
        (Figure::LastReceiptP99Ms, outcome.p99_us / 1e3),
    ]);
    Ok(figures)
}

/// What the load saw, and what the server used while the sockets were open and the load ran.
fn measure(
    harness: &Harness<'_>,
    server: &Server,
    sockets: u32,
    mode: impl Fn(Duration) -> Mode,
) -> anyhow::Result<(Outcome, Usage)> {
    let open = |duration| open(harness, server, sockets, mode(duration));
    if harness.settings.warms_up {
        open(WARM_UP)?.run(WARM_UP)?;
    }
    let duration = harness.settings.load_duration();
    let load = open(duration)?;
    let processes: BTreeSet<u32> = server.processes()?;
    let before = Clocks::read_beside(&processes, &load.processes())?;
    let outcome = load.run(duration)?;
    Ok((outcome, Clocks::read(&processes)?.since(&before)))
}

fn open(harness: &Harness<'_>, server: &Server, sockets: u32, mode: Mode) -> anyhow::Result<WsLoad> {
    require_descriptors(sockets as usize + RESERVED_DESCRIPTORS)?;
    let target = Target { address: server.address, path: &server.path, sockets, process: 0 };
    WsLoad::open(harness.programs.helper(WS_LOAD)?, target, mode)
}

fn common(server: &Server, usage: &Usage) -> anyhow::Result<Figures> {
    Ok(Figures::from([
        (Figure::PeakRssMb, peak_resident_bytes(&server.processes()?)? as f64 / 1e6),
        (Figure::ForeignCpuPercent, usage.foreign_percent),
    ]))
}
