//! All results of a run, as they are written to the JSON file.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::contestant::name_of;
use super::extent::Extent;
use super::figure::{Figure, Figures, medians, ratio, ratio_interval};
use super::goals::{self, Goal};
use super::machine::Machine;
use super::rounds::{MAX_FOREIGN_CPU_PERCENT, Standing};
use super::scenario::{Family, Scenario};
use super::settings::Settings;
use super::syscalls::Syscalls;

/// The figures of which ratios say something.
const COMPARED: &[Figure] = &[
    Figure::RequestsPerSecond,
    Figure::MessagesPerSecond,
    Figure::DeliveriesPerSecond,
    Figure::MibPerSecond,
    Figure::CpuUsPerRequest,
    Figure::CpuUsPerMessage,
    Figure::CpuUsPerDelivery,
    Figure::CpuMsPerGib,
    Figure::InstructionsPerRequest,
];

/// What a run of the harness says of a family.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) family: Family,
    pub(super) extent: Extent,
    /// When it had been measured, in UTC: YYYY-MM-DD.
    pub(super) date: String,
    /// HH:MM.
    pub(super) time: String,
    pub(super) machine: Machine,
    pub(super) settings: Settings,
    /// By the contestant's name.
    pub(super) versions: BTreeMap<String, String>,
    pub(super) goals: Vec<Goal>,
    pub(super) scenarios: Vec<Results>,
}

/// When, where, how and of what all was measured.
pub(super) struct Run {
    pub(super) at: Timestamp,
    pub(super) machine: Machine,
    pub(super) settings: Settings,
    /// By the contestant's name.
    pub(super) versions: BTreeMap<String, String>,
}

/// What came of a scenario.
#[derive(Serialize)]
pub(super) struct Results {
    pub(super) family: Family,
    pub(super) name: String,
    pub(super) title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bound_requests_per_second: Option<f64>,
    /// Of short turns: how long each lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn_ms: Option<u64>,
    pub(super) rows: Vec<Row>,
}

/// What came of a contestant in a scenario.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) title: String,
    /// Why there are no figures at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// Why there are none for some rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) failures: Vec<String>,
    pub(super) medians: Figures,
    /// The key of the row that the ratios are taken to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) over: Option<String>,
    /// Medians of the ratios to that row's figure of the same round.
    pub(super) ratios: Figures,
    /// In which they lie with 95 % confidence, where there are enough rounds to say.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) intervals: BTreeMap<Figure, (f64, f64)>,
    #[serde(skip_serializing_if = "Syscalls::is_empty")]
    pub(super) syscalls: Syscalls,
    /// Empty for a round that failed.
    pub(super) rounds: Vec<Figures>,
}

impl Report {
    pub(super) fn new(family: Family, run: &Run, scenarios: Vec<Results>) -> Self {
        let names: BTreeSet<_> =
            scenarios.iter().flat_map(|results| &results.rows).map(|row| name_of(&row.title)).collect();
        let versions = run.versions.iter().filter(|(name, _)| names.contains(name.as_str()));
        Self {
            family,
            extent: Extent::of(family, &scenarios),
            date: run.at.strftime("%Y-%m-%d").to_string(),
            time: run.at.strftime("%H:%M").to_string(),
            machine: run.machine.clone(),
            settings: run.settings.clone(),
            versions: versions.map(|(name, version)| (name.clone(), version.clone())).collect(),
            goals: goals::assess(family, &scenarios),
            scenarios,
        }
    }
}

impl Results {
    pub(super) fn new(scenario: &Scenario, standings: Vec<Standing>) -> Self {
        let rows = standings.iter().map(|standing| Row::new(scenario, standing, &standings)).collect();
        Self {
            family: scenario.family,
            name: scenario.name.to_owned(),
            title: scenario.title.to_owned(),
            bound_requests_per_second: scenario.bound_requests_per_second(),
            turn_ms: scenario.turn_ms(),
            rows,
        }
    }

    /// How often each contestant was measured, failures included.
    pub(super) fn rounds(&self) -> usize {
        self.rows.iter().map(|row| row.rounds.len()).max().unwrap_or(0)
    }

    /// The row of `key`, unless it failed.
    pub(super) fn row(&self, key: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == key && row.failure.is_none())
    }
}

impl Row {
    fn new(scenario: &Scenario, standing: &Standing, all: &[Standing]) -> Self {
        let over = standing.entry.over;
        let base = all.iter().find(|other| Some(other.entry.contestant.key) == over);
        let ratio_of = |figure: &Figure| Some((*figure, ratio(&standing.samples, &base?.samples, *figure)?));
        let interval_of = |figure: &Figure| {
            let (low, high) = ratio_interval(&standing.samples, &base?.samples, *figure)?;
            Some((*figure, (round(low), round(high))))
        };
        let mut medians = medians(&standing.samples);
        let syscalls = &standing.syscalls;
        if let Some(figure) = scenario.syscalls_figure().filter(|_| !syscalls.is_empty()) {
            medians.insert(figure, syscalls.values().sum());
        }
        Self {
            key: standing.entry.contestant.key.to_owned(),
            title: standing.entry.contestant.title.to_owned(),
            failure: standing.failures.last().filter(|_| !standing.has_figures()).cloned(),
            failures: standing.failures.clone(),
            medians: round_all(&medians),
            over: over.map(str::to_owned),
            ratios: round_all(&COMPARED.iter().filter_map(ratio_of).collect()),
            intervals: COMPARED.iter().filter_map(interval_of).collect(),
            syscalls: syscalls.iter().map(|(name, calls)| (name.clone(), round(*calls))).collect(),
            rounds: standing.samples.iter().map(round_all).collect(),
        }
    }

    /// What a reader has to know beside the figures.
    pub(super) fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if let (None, Some(reason)) = (&self.failure, self.failures.last()) {
            let (failed, all) = (self.failures.len(), self.rounds.len());
            caveats.push(format!("failed in {failed} of {all} rounds, the last time because: {reason}"));
        }
        let errors: f64 = self.rounds.iter().filter_map(|round| round.get(&Figure::Errors)).sum();
        if errors > 0.0 {
            caveats.push(format!("{errors:.0} errors"));
        }
        caveats
    }

    /// Rounds in which something else used too much of the cores.
    pub(super) fn disturbed_rounds(&self) -> usize {
        let foreign = self.rounds.iter().filter_map(|round| round.get(&Figure::ForeignCpuPercent));
        foreign.filter(|percent| **percent > MAX_FOREIGN_CPU_PERCENT).count()
    }
}

fn round_all(figures: &Figures) -> Figures {
    figures.iter().map(|(figure, value)| (*figure, round(*value))).collect()
}

/// Three digits behind the point: no measurement here carries more.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contestant::{FLOOR, GO};
    use crate::bench::scenario::{self, Entry};

    fn standing(entry: Entry, rps: &[f64]) -> Standing {
        let samples = rps.iter().map(|&rps| Figures::from([(Figure::RequestsPerSecond, rps)])).collect();
        Standing { entry, samples, syscalls: Syscalls::new(), failures: Vec::new() }
    }

    #[test]
    fn rows_are_compared_with_the_row_that_their_entry_names() {
        let scenario = scenario::all().remove(0);
        let floor = standing(Entry { contestant: FLOOR, over: None }, &[100.0, 50.0]);
        let go = standing(Entry { contestant: GO, over: Some(FLOOR.key) }, &[50.0, 20.0]);
        let results = Results::new(&scenario, vec![floor, go]);
        assert!(results.row("floor").unwrap().ratios.is_empty());
        assert_eq!(results.row("go").unwrap().ratios, Figures::from([(Figure::RequestsPerSecond, 0.45)]));
    }

    #[test]
    fn a_row_that_failed_gives_no_figures() {
        let scenario = scenario::all().remove(0);
        let mut go = standing(Entry { contestant: GO, over: None }, &[50.0]);
        go.samples = vec![Figures::new()];
        go.failures = vec!["it broke".to_owned()];
        assert!(Results::new(&scenario, vec![go]).row("go").is_none());
    }

    #[test]
    fn a_row_that_failed_in_some_rounds_has_the_others_figures_and_says_so() {
        let scenario = scenario::all().remove(0);
        let floor = standing(Entry { contestant: FLOOR, over: None }, &[100.0, 50.0]);
        let mut go = standing(Entry { contestant: GO, over: Some(FLOOR.key) }, &[0.0, 20.0]);
        go.samples[0] = Figures::new();
        go.failures = vec!["it broke".to_owned()];
        let results = Results::new(&scenario, vec![floor, go]);
        let row = results.row("go").unwrap();
        assert_eq!(row.medians[&Figure::RequestsPerSecond], 20.0);
        assert_eq!(row.ratios[&Figure::RequestsPerSecond], 0.4);
        assert_eq!(row.caveats(), ["failed in 1 of 2 rounds, the last time because: it broke"]);
    }

    #[test]
    fn system_calls_are_summed() {
        let scenario = scenario::all().remove(0);
        let mut go = standing(Entry { contestant: GO, over: None }, &[50.0]);
        go.syscalls = Syscalls::from([("read".to_owned(), 1.0), ("write".to_owned(), 1.25)]);
        let results = Results::new(&scenario, vec![go]);
        assert_eq!(results.rows[0].medians[&Figure::SyscallsPerRequest], 2.25);
    }

    #[test]
    fn errors_and_disturbances_are_told() {
        let scenario = scenario::all().remove(0);
        let mut go = standing(Entry { contestant: GO, over: None }, &[50.0, 60.0]);
        assert!(Results::new(&scenario, vec![standing(go.entry, &[1.0])]).rows[0].caveats().is_empty());
        go.samples[0].insert(Figure::Errors, 3.0);
        go.samples[1].insert(Figure::ForeignCpuPercent, 40.0);
        let results = Results::new(&scenario, vec![go]);
        assert_eq!(results.rows[0].caveats(), ["3 errors"]);
        assert_eq!(results.rows[0].disturbed_rounds(), 1);
    }
}
