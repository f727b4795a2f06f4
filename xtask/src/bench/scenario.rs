//! What is measured: the work, who does it, and what each is compared with.

pub(super) mod files;
pub(super) mod http;
pub(super) mod mongo;
pub(super) mod turns;
pub(super) mod tus;
pub(super) mod uploads;
mod websockets;
pub(super) mod wsgi;

use std::time::Duration;

use serde::Serialize;

use super::contestant::Contestant;
use super::database::FERRETDB;
use super::figure::Figure;
use super::settings::Settings;
use super::short_turns::{STARTS_A_ROUND, ShortTurns, TURN_MS};
use super::upload::{UPLOAD_LOAD, Upload};
use super::websocket_idle::Idle;
use super::wrk::{Load, Shape};
use super::ws_load::WS_LOAD;
use super::wsgi::Wsgi;

/// How long the handlers of the sleep scenarios sleep. The bare sleeper is told the same.
pub(super) const SLEEP_MS: u32 = 10;

/// What runs only when `--million` asks for it.
pub(super) const MILLION: &str = "websockets-million";

/// Loads whose goals lie a few per cent from what they are compared with. One process of a server can differ from the next by
/// more than that, however long each is measured: a round's load is put to several of them, one after the other.
const CLOSE: &[&str] =
    &["hello-64", "hello-512", "hello-4096", "pipelined", "loops", "mongo-office-10", "mongo-office-150"];
const PARTS_OF_A_CLOSE_ROUND: u64 = 3;

/// Some work and those who do it, in the order in which they take turns.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) family: Family,
    pub(super) path: &'static str,
    pub(super) work: Work,
    pub(super) entries: Vec<Entry>,
}

/// Scenarios that are reported together. The order is that of the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Family {
    Http,
    Turns,
    Files,
    Uploads,
    Tus,
    Mongo,
    #[serde(rename = "websockets")]
    WebSockets,
    Wsgi,
}

/// How the work is put to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// As fast as wrk can.
    Load(Load),
    /// In turns of a fraction of a second, among servers that all run.
    ShortTurns(ShortTurns),
    /// A paced client on the path, while wrk holds so many connections in handlers that sleep.
    Mixed { sleepers: u32 },
    /// Requests at a steady pace, over so many connections in turn.
    Paced { connections: u32 },
    /// Keep-alive connections with one request each, alone and beside idle ones.
    Fairness,
    /// Idle connections, and what they take.
    Memory,
    /// A message in flight on each WebSocket, there and back.
    WebSocketEcho { sockets: u32 },
    /// A message from one WebSocket to all.
    WebSocketFanOut { sockets: u32 },
    /// WebSockets that are open.
    WebSocketIdle(Idle),
    /// Bodies from many connections.
    Upload(Upload),
    /// As fast as wrk can, to a WSGI server.
    Wsgi(Wsgi),
    /// A few requests under callgrind.
    Instructions,
}

/// A contestant in a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) contestant: Contestant,
    /// The key of the entry that its ratios are taken to.
    pub(super) over: Option<&'static str>,
}

/// Every scenario, in the order of the report.
pub(super) fn all() -> Vec<Scenario> {
    Family::ALL.into_iter().flat_map(Family::scenarios).collect()
}

/// Who is called `key`.
pub(super) fn contestant(key: &str) -> Option<Contestant> {
    let entries = all().into_iter().flat_map(|scenario| scenario.entries);
    entries.map(|entry| entry.contestant).find(|contestant| contestant.key == key)
}

impl Family {
    pub(super) const ALL: [Self; 8] = [
        Self::Http,
        Self::Turns,
        Self::Files,
        Self::Uploads,
        Self::Tus,
        Self::Mongo,
        Self::WebSockets,
        Self::Wsgi,
    ];

    /// Its scenarios, in the order of the report.
    pub(super) fn scenarios(self) -> Vec<Scenario> {
        match self {
            Self::Http => http::scenarios(),
            Self::Turns => turns::scenarios(),
            Self::Files => files::scenarios(),
            Self::Uploads => uploads::scenarios(),
            Self::Tus => tus::scenarios(),
            Self::Mongo => mongo::scenarios(),
            Self::WebSockets => websockets::scenarios(),
            Self::Wsgi => wsgi::scenarios(),
        }
    }

    /// What it is called in files and in the page's marks.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Turns => "turns",
            Self::Files => "files",
            Self::Uploads => "uploads",
            Self::Tus => "tus",
            Self::Mongo => "mongo",
            Self::WebSockets => "websockets",
            Self::Wsgi => "wsgi",
        }
    }

    /// What it is called in the page.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Http => "Requests",
            Self::Turns => "Requests and messages in short turns",
            Self::Files => "Files and compression",
            Self::Uploads => "Uploads",
            Self::Tus => "Resumable uploads",
            Self::Mongo => "MongoDB",
            Self::WebSockets => "WebSockets",
            Self::Wsgi => "WSGI",
        }
    }
}

impl Scenario {
    /// How many turns each entry takes, or how often all are started to take short ones; what is counted is the same every time.
    pub(super) fn turns(&self, settings: &Settings) -> u32 {
        if self.work == Work::Instructions || self.name == MILLION {
            return 1;
        }
        if let Work::ShortTurns(_) = self.work {
            return settings.rounds * STARTS_A_ROUND;
        }
        settings.rounds * self.parts_of_a_round(settings) as u32
    }

    /// How long the load of a turn lasts.
    pub(super) fn load_duration(&self, settings: &Settings) -> Duration {
        Duration::from_secs(settings.load_seconds / self.parts_of_a_round(settings))
    }

    /// No part is shorter than a second.
    fn parts_of_a_round(&self, settings: &Settings) -> u64 {
        let is_close = CLOSE.contains(&self.name);
        if is_close { settings.load_seconds.clamp(1, PARTS_OF_A_CLOSE_ROUND) } else { 1 }
    }

    /// How long each of its turns lasts, where they are short.
    pub(super) fn turn_ms(&self) -> Option<u64> {
        matches!(self.work, Work::ShortTurns(_)).then_some(TURN_MS)
    }

    /// What has to run beside, where it is neither wrk nor the harness.
    pub(super) fn helper(&self) -> Option<&'static str> {
        match self.work {
            Work::WebSocketEcho { .. } | Work::WebSocketFanOut { .. } | Work::WebSocketIdle(_) => {
                Some(WS_LOAD)
            }
            Work::Upload(_) => Some(UPLOAD_LOAD),
            Work::ShortTurns(habits) => Some(habits.helper()),
            _ if self.asks_database() => Some(FERRETDB),
            _ => None,
        }
    }

    /// Whether its servers have a database.
    pub(super) fn asks_database(&self) -> bool {
        self.family == Family::Mongo
    }

    /// What the system calls of the work are divided by, if they are counted too.
    pub(super) fn syscalls_figure(&self) -> Option<Figure> {
        match self.work {
            Work::Load(_) | Work::Wsgi(_) => Some(Figure::SyscallsPerRequest),
            Work::WebSocketEcho { .. } => Some(Figure::SyscallsPerMessage),
            _ => None,
        }
    }

    /// The most requests a second that any server can answer, when the work's nature limits them.
    pub(super) fn bound_requests_per_second(&self) -> Option<f64> {
        match self.work {
            Work::Load(load) | Work::Wsgi(Wsgi { load, .. }) if self.path == "/sleep/10" => {
                Some(f64::from(load.connections) * 1000.0 / f64::from(SLEEP_MS))
            }
            _ => None,
        }
    }
}

const fn kept_alive(connections: u32) -> Load {
    Load { connections, shape: Shape::KeptAlive, header: None }
}

/// All compared with the first.
fn beside(contestants: &[Contestant]) -> Vec<Entry> {
    let floor = contestants[0].key;
    let over = |contestant: &Contestant| (contestant.key != floor).then_some(floor);
    contestants.iter().map(|contestant| Entry { contestant: *contestant, over: over(contestant) }).collect()
}

fn alone(contestants: &[Contestant]) -> Vec<Entry> {
    contestants.iter().map(|contestant| Entry { contestant: *contestant, over: None }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_so_are_keys_within_a_scenario() {
        let scenarios = all();
        let names: BTreeSet<_> = scenarios.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), scenarios.len());
        for scenario in scenarios {
            let keys: BTreeSet<_> = scenario.entries.iter().map(|entry| entry.contestant.key).collect();
            assert_eq!(keys.len(), scenario.entries.len(), "{}", scenario.name);
        }
    }

    #[test]
    fn a_key_means_the_same_contestant_everywhere() {
        for scenario in all() {
            for entry in &scenario.entries {
                assert_eq!(contestant(entry.contestant.key), Some(entry.contestant), "{}", scenario.name);
            }
        }
    }

    #[test]
    fn close_loads_are_divided_into_turns_of_a_second_or_more() {
        let scenarios = all();
        let named = |name: &str| scenarios.iter().find(|scenario| scenario.name == name).unwrap();
        let divided = |name, rounds, load_seconds| {
            let settings = Settings {
                rounds,
                load_seconds,
                idle_connections: 0,
                repeats_when_disturbed: 0,
                warms_up: false,
                is_thorough: false,
                publishes_all: false,
            };
            (named(name).turns(&settings), named(name).load_duration(&settings).as_secs())
        };
        assert_eq!(divided("hello-64", 3, 3), (9, 1));
        assert_eq!(divided("hello-64", 2, 10), (6, 3));
        assert_eq!(divided("hello-64", 1, 1), (1, 1));
        assert_eq!(divided("json", 3, 3), (3, 3));
        assert_eq!(divided("instructions", 3, 3), (1, 3));
        assert!(CLOSE.iter().all(|name| named(name).syscalls_figure().is_some()), "only loads are divided");
    }

    #[test]
    fn families_keep_to_themselves() {
        for family in Family::ALL {
            assert!(family.scenarios().iter().all(|scenario| scenario.family == family), "{family:?}");
        }
    }

    #[test]
    fn whom_an_entry_is_compared_with_takes_part_too() {
        for scenario in all() {
            let keys: Vec<_> = scenario.entries.iter().map(|entry| entry.contestant.key).collect();
            for over in scenario.entries.iter().filter_map(|entry| entry.over) {
                assert!(keys.contains(&over), "{over} is missing in {}", scenario.name);
            }
        }
    }
}
