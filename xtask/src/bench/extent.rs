//! How much of a family was measured.

use std::collections::BTreeSet;

use serde::Serialize;

use super::report::Results;
use super::scenario::{Family, MILLION, Scenario};

/// What is missing of a family.
#[derive(Serialize)]
pub(super) struct Extent {
    is_partial: bool,
    /// Names of scenarios.
    missing_scenarios: Vec<&'static str>,
    /// Titles of who would have taken part in those that were measured.
    missing_contestants: BTreeSet<&'static str>,
}

impl Extent {
    pub(super) fn of(family: Family, measured: &[Results]) -> Self {
        let results_of = |scenario: &Scenario| measured.iter().find(|results| results.name == scenario.name);
        let (mut missing_scenarios, mut missing_contestants) = (Vec::new(), BTreeSet::new());
        for scenario in family.scenarios() {
            match results_of(&scenario) {
                Some(results) => missing_contestants.extend(missing(&scenario, results)),
                // It runs only when it is asked for.
                None if scenario.name == MILLION => {}
                None => missing_scenarios.push(scenario.name),
            }
        }
        let is_partial = !missing_scenarios.is_empty() || !missing_contestants.is_empty();
        Self { is_partial, missing_scenarios, missing_contestants }
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// What a reader has to know, if anything.
    pub(super) fn label(&self) -> Option<String> {
        let parts = [
            list("the scenarios", self.missing_scenarios.iter().copied()),
            list("the contestants", self.missing_contestants.iter().copied()),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("**A partial run:** it left out {}.", parts.join(", and ")))
    }
}

fn missing(scenario: &Scenario, results: &Results) -> Vec<&'static str> {
    let contestants = scenario.entries.iter().map(|entry| entry.contestant);
    contestants
        .filter(|contestant| results.rows.iter().all(|row| row.key != contestant.key))
        .map(|contestant| contestant.title)
        .collect()
}

fn list<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<_> = names.collect();
    (!names.is_empty()).then(|| format!("{what} {}", names.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::Figures;
    use crate::bench::rounds::Standing;
    use crate::bench::syscalls::Syscalls;

    fn results(scenario: &Scenario, takes_part: impl Fn(&str) -> bool) -> Results {
        let entries = scenario.entries.iter().filter(|entry| takes_part(entry.contestant.key));
        let standings = entries.map(|entry| Standing {
            entry: *entry,
            samples: vec![Figures::new()],
            syscalls: Syscalls::new(),
            failures: Vec::new(),
        });
        Results::new(scenario, standings.collect())
    }

    #[test]
    fn a_family_is_whole_with_all_that_runs_unasked() {
        let scenarios = Family::WebSockets.scenarios();
        let measured: Vec<_> = scenarios
            .iter()
            .filter(|scenario| scenario.name != MILLION)
            .map(|scenario| results(scenario, |_| true))
            .collect();
        let extent = Extent::of(Family::WebSockets, &measured);
        assert!(!extent.is_partial());
        assert_eq!(extent.label(), None);
    }

    #[test]
    fn what_was_left_out_is_told() {
        let scenarios = Family::Http.scenarios();
        let measured = results(&scenarios[0], |key| key != "actix");
        let extent = Extent::of(Family::Http, &[measured]);
        assert!(extent.is_partial());
        let label = extent.label().unwrap();
        assert!(label.contains("the scenarios hello-512; hello-4096; pipelined; "), "{label}");
        assert!(label.ends_with(", and the contestants actix-web."), "{label}");
    }
}
