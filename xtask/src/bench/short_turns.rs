//! Loads that take short turns: all servers run at once, each with its connections open, and one after the other is loaded.
//!
//! A shared machine may change its speed from second to second. What is to be told apart by a few per cent is compared with what
//! was measured some 200 ms before, and often.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use anyhow::anyhow;
use serde::Deserialize;

use super::Harness;
use super::figure::{Figure, Figures};
use super::load_process::LoadProcess;
use super::scenario::{Entry, Scenario};
use super::server::Server;
use super::system_limits::require_descriptors;
use super::thread_clocks::ThreadClocks;
use super::turn;
use super::ws_load::WS_LOAD;

/// The package of the load generator for requests.
const HTTP_LOAD: &str = "http-load";
pub(super) const TURN_MS: u64 = 200;
/// Of each server, for each time that all are started: one process differs from the next.
pub(super) const TURNS_A_START: usize = 16;
pub(super) const STARTS_A_ROUND: u32 = 2;
/// How long opening all connections may take.
const OPEN_LIMIT: Duration = Duration::from_secs(60);
/// What the last answers of a turn may take.
const GRACE: Duration = Duration::from_secs(15);
/// What a process needs beside its connections.
const RESERVED_DESCRIPTORS: usize = 500;

/// What is sent over how many connections to each server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShortTurns {
    pub(super) connections: u32,
    pub(super) traffic: Traffic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Traffic {
    /// So many requests at once on each connection.
    Requests { pipelined: u32 },
    /// A message in flight on each WebSocket.
    Messages,
}

/// What the turns of an entry gave, or why it could not take part.
pub(super) type Turns = anyhow::Result<Vec<Figures>>;

/// A server with its place among those that the load knows.
struct Place {
    number: usize,
    processes: BTreeSet<u32>,
    turns: Vec<Figures>,
    server: Server,
}

#[derive(Deserialize)]
struct Loaded {
    answers: u64,
    seconds: f64,
}

impl ShortTurns {
    /// The package of its load generator.
    pub(super) fn helper(self) -> &'static str {
        match self.traffic {
            Traffic::Requests { .. } => HTTP_LOAD,
            Traffic::Messages => WS_LOAD,
        }
    }

    /// The load generator's command, but for the servers.
    fn command(self, harness: &Harness<'_>, path: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(harness.programs.helper(self.helper())?);
        let connections = self.connections.to_string();
        match self.traffic {
            Traffic::Requests { pipelined } => {
                command.args(["--connections", &connections]).args(["--pipelined", &pipelined.to_string()])
            }
            Traffic::Messages => command.args(["turns", "--sockets", &connections]),
        };
        command.args(["--path", path]);
        Ok(command)
    }
}

impl Traffic {
    /// How many are answered a second, and what each costs.
    fn figures(self) -> [Figure; 2] {
        match self {
            Self::Requests { .. } => [Figure::RequestsPerSecond, Figure::CpuUsPerRequest],
            Self::Messages => [Figure::MessagesPerSecond, Figure::CpuUsPerMessage],
        }
    }
}

/// Starts all entries' servers and lets each take its turns, once without measuring. An error concerns all of them.
pub(super) fn take(
    harness: &Harness<'_>,
    scenario: &Scenario,
    entries: &[Entry],
    habits: ShortTurns,
) -> anyhow::Result<Vec<Turns>> {
    require_descriptors(habits.connections as usize * entries.len() + RESERVED_DESCRIPTORS)?;
    let mut command = habits.command(harness, scenario.path)?;
    let mut places: Vec<anyhow::Result<Place>> = Vec::new();
    for entry in entries {
        let number = places.iter().flatten().count();
        let place = turn::start(harness, scenario, entry).and_then(|server| Place::new(number, server));
        if let Ok(place) = &place {
            command.arg(place.server.address.to_string());
        }
        places.push(place);
    }
    if places.iter().all(Result::is_err) {
        return Ok(turns_of(places));
    }
    let mut load = LoadProcess::start(&mut command)?;
    load.hear::<serde::de::IgnoredAny>(&["opened"], OPEN_LIMIT)?;
    for turn in 0..=TURNS_A_START {
        for place in places.iter_mut().flatten() {
            let figures = place.take_turn(&mut load, habits.traffic.figures())?;
            if turn > 0 {
                place.turns.push(figures);
            }
        }
    }
    Ok(turns_of(places))
}

fn turns_of(places: Vec<anyhow::Result<Place>>) -> Vec<Turns> {
    places.into_iter().map(|place| place.map(|place| place.turns)).collect()
}

impl Place {
    fn new(number: usize, server: Server) -> anyhow::Result<Self> {
        Ok(Self { number, processes: server.processes()?, turns: Vec::new(), server })
    }

    fn take_turn(&self, load: &mut LoadProcess, [rate, cost]: [Figure; 2]) -> anyhow::Result<Figures> {
        let before = ThreadClocks::read(&self.processes)?;
        load.tell(&format!("load {} {TURN_MS}", self.number))?;
        let Loaded { answers, seconds } = load.hear(&["loaded"], Duration::from_millis(TURN_MS) + GRACE)?;
        let used = ThreadClocks::read(&self.processes)?.since(&before);
        let answers = answers as f64;
        Ok(Figures::from([(rate, answers / seconds), (cost, used.as_secs_f64() * 1e6 / answers)]))
    }
}

/// The same failure, for each of so many.
pub(super) fn fail_all(entries: usize, error: &anyhow::Error) -> Vec<Turns> {
    (0..entries).map(|_| Err(anyhow!("{error:#}"))).collect()
}
