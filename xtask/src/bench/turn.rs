//! A contestant's turn in a scenario: its server is started, does the work, and is ended.

use std::thread;
use std::time::Duration;

use anyhow::bail;

use super::Harness;
use super::clocks::Clocks;
use super::crowd::{Crowd, ask_at_once};
use super::figure::{Figure, Figures};
use super::instructions;
use super::launch::Launch;
use super::load;
use super::paced::Pace;
use super::process_stat::{proportional_bytes, resident_bytes};
use super::scenario::{Entry, Scenario, Work};
use super::server::Server;
use super::syscalls::{self, Syscalls};
use super::wrk::{Load, Shape};
use super::wsgi::Wsgi;
use super::{upload, websocket, websocket_idle};

const PACED_REQUESTS_PER_SECOND: u32 = 2_000;
const PACED_CONNECTIONS: u32 = 8;
/// What goes over many connections, each of which is asked in its turn.
const ACTIVE_REQUESTS_PER_SECOND: u32 = 5_000;
const ACTIVE_CLIENTS: u32 = 16;
/// What the mixed load sleeps beside the paced one.
const SLEEP_PATH: &str = "/sleep/100";
/// How long the sleepers run before and after the paced load.
const SLEEP_MARGIN: Duration = Duration::from_millis(500);
/// Connections that ask at the same moment to see whether each gets its turn.
const FAIR_CONNECTIONS: usize = 64;
/// How long memory may take to settle after the last connection.
const SETTLE_TIME: Duration = Duration::from_millis(200);

/// Takes one turn and measures it.
pub(super) fn take(harness: &Harness<'_>, scenario: &Scenario, entry: &Entry) -> anyhow::Result<Figures> {
    let start = || start(harness, scenario, entry);
    match scenario.work {
        Work::Load(load) => {
            let (settings, root, server) = (&harness.settings, harness.workspace.root(), start()?);
            let mut figures =
                load::measure(root, &server, load, scenario.load_duration(settings), settings.warms_up)?;
            if let Some(accepting) = load.header {
                figures.insert(Figure::BodyBytes, server.compressed_bytes(accepting)? as f64);
            }
            Ok(figures)
        }
        Work::Wsgi(Wsgi { load, .. }) => {
            let (settings, root, server) = (&harness.settings, harness.workspace.root(), start()?);
            let mut figures =
                load::measure(root, &server, load, scenario.load_duration(settings), settings.warms_up)?;
            figures.insert(Figure::PssMb, proportional_bytes(&server.processes()?)? as f64 / 1e6);
            Ok(figures)
        }
        Work::Mixed { sleepers } => mixed(harness, &start()?, sleepers),
        Work::Paced { connections } => paced(harness, &start()?, connections),
        Work::Fairness => fairness(harness, &start()?),
        Work::Memory => memory(harness, &start()?),
        Work::WebSocketEcho { sockets } => websocket::echo(harness, &start()?, sockets),
        Work::WebSocketFanOut { sockets } => websocket::fan_out(harness, &start()?, sockets),
        Work::WebSocketIdle(idle) => websocket_idle::measure(harness, idle, start),
        Work::ShortTurns(_) => bail!("short turns are taken together"),
        Work::Upload(upload) => upload::measure(harness, &start()?, upload),
        Work::Instructions => {
            let count = instructions::count(harness, &entry.contestant)?;
            Ok(Figures::from([(Figure::InstructionsPerRequest, count)]))
        }
    }
}

/// Takes a turn for its system calls alone.
pub(super) fn count_syscalls(
    harness: &Harness<'_>,
    scenario: &Scenario,
    entry: &Entry,
) -> anyhow::Result<Syscalls> {
    let root = harness.workspace.root();
    let server = start(harness, scenario, entry)?;
    match scenario.work {
        Work::Load(load) | Work::Wsgi(Wsgi { load, .. }) => syscalls::count(root, &server, |duration| {
            Ok(load.start(root, server.address, &server.path, duration)?.finish()?.requests)
        }),
        Work::WebSocketEcho { sockets } => {
            let echo = websocket::open_echo(harness, &server, sockets, syscalls::LOAD_DURATION)?;
            syscalls::count(root, &server, |duration| Ok(echo.run(duration)?.count))
        }
        _ => bail!("only loads are traced"),
    }
}

/// Starts the entry's server and checks that it does the scenario's work.
pub(super) fn start(harness: &Harness<'_>, scenario: &Scenario, entry: &Entry) -> anyhow::Result<Server> {
    let contestant = &entry.contestant;
    let path = contestant.path(scenario.path);
    let mut launch = Launch::new(harness.workspace, &harness.programs, contestant, &path)?;
    if let Work::WebSocketIdle(idle) = scenario.work {
        launch = launch.pinging(contestant, idle.ping_after());
    }
    if scenario.asks_database() {
        launch = launch.asking(harness.workspace, contestant, harness.database()?);
    }
    if let Work::Wsgi(wsgi) = scenario.work {
        launch = launch.serving(contestant, wsgi);
    }
    let server = Server::start(launch, &path)?;
    server.check(contestant)?;
    if let Work::Load(Load { shape: Shape::Closing(_), .. }) = scenario.work {
        server.check_close()?;
    }
    Ok(server)
}

fn mixed(harness: &Harness<'_>, server: &Server, sleepers: u32) -> anyhow::Result<Figures> {
    let duration = harness.settings.load_duration();
    let processes = server.processes()?;
    let before = Clocks::read(&processes)?;
    let sleepers = Load { connections: sleepers, shape: Shape::KeptAlive, header: None };
    let sleeping =
        sleepers.start(harness.workspace.root(), server.address, SLEEP_PATH, duration + 2 * SLEEP_MARGIN)?;
    thread::sleep(SLEEP_MARGIN);
    let pace = Pace {
        requests_per_second: PACED_REQUESTS_PER_SECOND,
        connections: PACED_CONNECTIONS,
        clients: PACED_CONNECTIONS,
        duration,
    };
    let latencies = pace.run(server.address, &server.path)?;
    let slept = sleeping.finish()?;
    let usage = Clocks::read(&processes)?.since(&before);
    Ok(Figures::from([
        (Figure::P50Us, latencies.p50_us),
        (Figure::P99Us, latencies.p99_us),
        (Figure::MaxUs, latencies.max_us),
        (Figure::AnsweredPercent, latencies.answered_percent),
        (Figure::SleepsPerSecond, slept.requests as f64 / slept.duration.as_secs_f64()),
        (Figure::Errors, slept.errors as f64),
        (Figure::ForeignCpuPercent, usage.foreign_percent),
    ]))
}

fn paced(harness: &Harness<'_>, server: &Server, connections: u32) -> anyhow::Result<Figures> {
    let processes = server.processes()?;
    let before = Clocks::read(&processes)?;
    let pace = Pace {
        requests_per_second: ACTIVE_REQUESTS_PER_SECOND,
        connections,
        clients: ACTIVE_CLIENTS,
        duration: harness.settings.load_duration(),
    };
    let latencies = pace.run(server.address, &server.path)?;
    let usage = Clocks::read(&processes)?.since(&before);
    Ok(Figures::from([
        (Figure::P50Us, latencies.p50_us),
        (Figure::P99Us, latencies.p99_us),
        (Figure::MaxUs, latencies.max_us),
        (Figure::AnsweredPercent, latencies.answered_percent),
        (Figure::ForeignCpuPercent, usage.foreign_percent),
    ]))
}

fn fairness(harness: &Harness<'_>, server: &Server) -> anyhow::Result<Figures> {
    let alone = ask_at_once(server.address, &server.path, FAIR_CONNECTIONS);
    let crowd = Crowd::gather(server.address, &server.path, harness.settings.idle_connections)?;
    let beside = ask_at_once(server.address, &server.path, FAIR_CONNECTIONS);
    Ok(Figures::from([
        (Figure::AnsweredAlone, alone.count as f64),
        (Figure::AnsweredBesideIdle, beside.count as f64),
        (Figure::SlowestAnswerMs, beside.slowest.as_secs_f64() * 1e3),
        (Figure::IdleConnections, crowd.len() as f64),
    ]))
}

fn memory(harness: &Harness<'_>, server: &Server) -> anyhow::Result<Figures> {
    let empty = resident_bytes(&server.processes()?)?;
    let crowd = Crowd::gather(server.address, &server.path, harness.settings.idle_connections)?;
    thread::sleep(SETTLE_TIME);
    let full = resident_bytes(&server.processes()?)?;
    let mut figures = Figures::from([(Figure::IdleConnections, crowd.len() as f64)]);
    // Of fewer, what the server itself came to need for its work is the greater part.
    if crowd.len() == harness.settings.idle_connections {
        let bytes = full.saturating_sub(empty) as f64 / crowd.len() as f64;
        figures.insert(Figure::BytesPerIdleConnection, bytes);
    }
    Ok(figures)
}
