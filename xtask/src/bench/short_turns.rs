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

/// The package of the load generator.
pub(super) const HTTP_LOAD: &str = "http-load";
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
    /// Requests at once.
    pub(super) pipelined: u32,
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
    requests: u64,
    seconds: f64,
}

/// Starts all entries' servers and lets each take its turns, once without measuring. An error concerns all of them.
pub(super) fn take(
    harness: &Harness<'_>,
    scenario: &Scenario,
    entries: &[Entry],
    habits: ShortTurns,
) -> anyhow::Result<Vec<Turns>> {
    require_descriptors(habits.connections as usize * entries.len() + RESERVED_DESCRIPTORS)?;
    let mut command = Command::new(harness.programs.helper(HTTP_LOAD)?);
    command.args(["--connections", &habits.connections.to_string()]);
    command.args(["--pipelined", &habits.pipelined.to_string(), "--path", scenario.path]);
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
            let figures = place.take_turn(&mut load)?;
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

    fn take_turn(&self, load: &mut LoadProcess) -> anyhow::Result<Figures> {
        let before = ThreadClocks::read(&self.processes)?;
        load.tell(&format!("load {} {TURN_MS}", self.number))?;
        let Loaded { requests, seconds } = load.hear(&["loaded"], Duration::from_millis(TURN_MS) + GRACE)?;
        let used = ThreadClocks::read(&self.processes)?.since(&before);
        let requests = requests as f64;
        Ok(Figures::from([
            (Figure::RequestsPerSecond, requests / seconds),
            (Figure::CpuUsPerRequest, used.as_secs_f64() * 1e6 / requests),
        ]))
    }
}

/// The same failure, for each of so many.
pub(super) fn fail_all(entries: usize, error: &anyhow::Error) -> Vec<Turns> {
    (0..entries).map(|_| Err(anyhow!("{error:#}"))).collect()
}
