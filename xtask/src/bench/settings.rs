//! How much is measured.

use std::time::Duration;

use anyhow::ensure;
use serde::Serialize;

use super::ratchet::Ratchet;
use super::scenario::{MILLION, Scenario, Work};
use super::websocket_idle::Idle;

const ROUNDS: u32 = 3;
const LOAD_SECONDS: u64 = 3;
const IDLE_CONNECTIONS: usize = 10_000;
const REPEATS_WHEN_DISTURBED: u32 = 2;

/// What to measure, and how thoroughly.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Measures one short round and repeats nothing: whether all works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Measures only the scenarios whose names begin with this; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How often each server takes its turn in each scenario [default: 3, with --quick 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// How long each load lasts, in seconds [default: 3, with --quick 1].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: Option<u64>,
    /// Measures only these beside Tayet and the floors; `none` for no peer.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Counts instructions and allocations of Tayet's requests, and fails when they cost more than their record has it;
    /// `update` writes the record anew. (`--only instructions` compares with the peers.)
    #[arg(long, value_name = "RECORD", num_args = 0..=1, require_equals = true, default_missing_value = "check")]
    pub(super) instructions: Option<Ratchet>,
    /// Holds a million idle WebSockets too, or so many, over as many processes as it takes; at 24 GB of memory or so.
    #[arg(
        long,
        value_name = "SOCKETS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1000000",
        value_parser = clap::value_parser!(u32).range(1..=2_000_000)
    )]
    million: Option<u32>,
    /// Keeps the results in the repository even when rounds or seconds are few, which the page then says, or when they are a part
    /// of a family, which goes to bench/results alone.
    #[arg(long)]
    publish: bool,
    /// Builds and installs all that takes part, and measures nothing.
    #[arg(long)]
    pub(super) build: bool,
    /// Lists scenarios and contestants, and measures nothing.
    #[arg(long)]
    pub(super) list: bool,
}

/// The arguments, checked and with their defaults.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Settings {
    pub(super) rounds: u32,
    pub(super) load_seconds: u64,
    pub(super) idle_connections: usize,
    pub(super) repeats_when_disturbed: u32,
    /// Whether the servers get a second of load before they are measured.
    pub(super) warms_up: bool,
    /// Whether rounds and loads are as many and as long as it takes to tell how fast something is.
    pub(super) is_thorough: bool,
    /// Whether the results are kept in the repository whatever they are.
    #[serde(skip)]
    pub(super) publishes_all: bool,
}

impl BenchArgs {
    pub(super) fn settings(&self) -> Settings {
        let default = if self.quick { (1, 1) } else { (ROUNDS, LOAD_SECONDS) };
        let rounds = self.rounds.unwrap_or(default.0);
        let load_seconds = self.seconds.unwrap_or(default.1);
        let is_thorough = !self.quick && rounds >= ROUNDS && load_seconds >= LOAD_SECONDS;
        Settings {
            rounds,
            load_seconds,
            idle_connections: IDLE_CONNECTIONS,
            repeats_when_disturbed: if self.quick { 0 } else { REPEATS_WHEN_DISTURBED },
            warms_up: !self.quick,
            is_thorough,
            publishes_all: self.publish,
        }
    }

    /// Those of `scenarios` and their entries that are asked for; a name that fits none is an error.
    pub(super) fn select(&self, scenarios: Vec<Scenario>) -> anyhow::Result<Vec<Scenario>> {
        self.check_names(&scenarios)?;
        let only = self.only();
        let is_selected = |scenario: &Scenario| {
            let is_named = only.is_empty() || only.iter().any(|prefix| scenario.name.starts_with(prefix));
            is_named && (self.million.is_some() || self.list || scenario.name != MILLION)
        };
        let takes_part = |key: &str| self.peers.is_empty() || self.peers.iter().any(|peer| names(peer, key));
        let mut selected: Vec<_> = scenarios.into_iter().filter(is_selected).collect();
        for scenario in &mut selected {
            if let (Some(sockets), Work::WebSocketIdle(idle), MILLION) =
                (self.million, scenario.work, scenario.name)
            {
                scenario.work = Work::WebSocketIdle(Idle { sockets, ..idle });
            }
            scenario.entries.retain(|entry| !entry.contestant.is_peer() || takes_part(entry.contestant.key));
        }
        Ok(selected)
    }

    fn only(&self) -> Vec<&str> {
        self.only.iter().map(String::as_str).collect()
    }

    fn check_names(&self, scenarios: &[Scenario]) -> anyhow::Result<()> {
        for prefix in &self.only {
            let fits = scenarios.iter().any(|scenario| scenario.name.starts_with(prefix.as_str()));
            ensure!(fits, "no scenario is called {prefix:?}; `cargo xtask bench --list` lists them");
        }
        for peer in self.peers.iter().filter(|peer| *peer != "none") {
            let mut entries = scenarios.iter().flat_map(|scenario| &scenario.entries);
            let fits = entries.any(|entry| entry.contestant.is_peer() && names(peer, entry.contestant.key));
            ensure!(fits, "no peer is called {peer:?}; `cargo xtask bench --list` lists them");
        }
        Ok(())
    }
}

impl Settings {
    pub(super) fn load_duration(&self) -> Duration {
        Duration::from_secs(self.load_seconds)
    }

    /// Whether results are kept in the repository: unasked, only those that tell how fast something is and leave nothing out,
    /// since they take the place of the last ones.
    pub(super) fn publishes(&self, is_partial: bool) -> bool {
        self.publishes_all || (self.is_thorough && !is_partial)
    }
}

/// `axum` names axum in all of its variants.
fn names(peer: &str, key: &str) -> bool {
    key.strip_prefix(peer).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::bench::scenario;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: BenchArgs,
    }

    fn args(line: &str) -> BenchArgs {
        Cli::try_parse_from(format!("bench {line}").split_whitespace()).unwrap().args
    }

    fn keys(scenario: &Scenario) -> Vec<&'static str> {
        scenario.entries.iter().map(|entry| entry.contestant.key).collect()
    }

    #[test]
    fn everything_is_selected_unless_something_is_named() {
        assert_eq!(args("--million").select(scenario::all()).unwrap().len(), scenario::all().len());
        let selected = args("--only hello --only memory").select(scenario::all()).unwrap();
        let names: Vec<_> = selected.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names, ["hello-64", "hello-512", "hello-4096", "memory"]);
        assert_eq!(args("--instructions").instructions, Some(Ratchet::Check));
        assert_eq!(args("--instructions=update").instructions, Some(Ratchet::Update));
    }

    #[test]
    fn a_million_sockets_are_held_only_when_asked_for_and_may_be_fewer() {
        let names = |line| {
            let selected = args(line).select(scenario::all()).unwrap();
            selected.into_iter().map(|scenario| (scenario.name, scenario.work)).collect::<Vec<_>>()
        };
        assert!(!names("").iter().any(|(name, _)| *name == MILLION));
        let (name, work) = names("--only websockets --million=20000").pop().unwrap();
        assert_eq!(name, MILLION);
        let Work::WebSocketIdle(idle) = work else { panic!("the sockets are idle") };
        assert_eq!(idle.sockets, 20_000);
    }

    #[test]
    fn peers_are_chosen_with_their_variants_beside_tayet_and_the_floors() {
        let selected = args("--only dispatched --peers axum").select(scenario::all()).unwrap();
        assert_eq!(keys(&selected[0]), ["tayet-inline", "tayet-4-threads", "axum", "axum-block"]);
        let selected = args("--only sleep-10 --peers none").select(scenario::all()).unwrap();
        assert_eq!(keys(&selected[0]), ["sleeper", "tayet", "tayet-100-threads"]);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(args("--only nonsense").select(scenario::all()).is_err());
        assert!(args("--peers axu").select(scenario::all()).is_err());
        assert!(args("--peers tayet").select(scenario::all()).is_err());
    }

    #[test]
    fn what_is_short_or_partial_is_published_only_when_asked_for() {
        for line in ["", "--rounds 4 --seconds 5"] {
            let settings = args(line).settings();
            assert!(settings.is_thorough && settings.publishes(false) && !settings.publishes(true), "{line}");
        }
        for line in ["--quick", "--rounds 2", "--seconds 1"] {
            let settings = args(line).settings();
            assert!(!settings.is_thorough && !settings.publishes(false), "{line}");
            assert!(args(&format!("{line} --publish")).settings().publishes(true), "{line}");
        }
    }

    #[test]
    fn quick_is_short_unless_told() {
        let settings = args("--quick --seconds 2").settings();
        assert_eq!((settings.rounds, settings.load_seconds), (1, 2));
        assert!(Cli::try_parse_from(["bench", "--rounds", "0"]).is_err());
    }
}
