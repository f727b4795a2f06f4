//! The figures that Tayet set out to reach, and whether it does.

mod files;
mod http;
mod mongo;
mod turns;
mod tus;
mod uploads;
mod websockets;
mod wsgi;

use serde::Serialize;

use super::contestant::Contestant;
use super::figure::{Figure, ratio};
use super::report::{Results, Row};
use super::scenario::{self, Family};

/// A figure with what is asked of it.
#[derive(Clone, Serialize)]
pub(super) struct Goal {
    pub(super) what: String,
    /// Absent when it was not measured.
    pub(super) value: Option<f64>,
    #[serde(skip)]
    pub(super) decimals: usize,
    /// What has to be reached.
    pub(super) demand: Demand,
    /// What would be better still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) aim: Option<Demand>,
    pub(super) verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Demand {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// The aim too, where there is one.
    Reached,
    /// The demand, though not the aim.
    Accepted,
    Missed,
    NotMeasured,
}

/// Every goal of a family, assessed by its `scenarios`.
pub(super) fn assess(family: Family, scenarios: &[Results]) -> Vec<Goal> {
    let measured = Measured { scenarios };
    match family {
        Family::Http => http::goals(measured),
        Family::Turns => turns::goals(measured),
        Family::Files => files::goals(measured),
        Family::Uploads => uploads::goals(measured),
        Family::Tus => tus::goals(measured),
        Family::Mongo => mongo::goals(measured),
        Family::WebSockets => websockets::goals(measured),
        Family::Wsgi => wsgi::goals(measured),
    }
}

#[derive(Clone, Copy)]
struct Measured<'a> {
    scenarios: &'a [Results],
}

impl Measured<'_> {
    fn scenario(&self, name: &str) -> Option<&Results> {
        self.scenarios.iter().find(|results| results.name == name)
    }

    fn median(&self, scenario: &str, contestant: Contestant, figure: Figure) -> Option<f64> {
        self.scenario(scenario)?.row(contestant.key)?.medians.get(&figure).copied()
    }

    fn ratio(&self, scenario: &str, contestant: Contestant, base: Contestant, figure: Figure) -> Option<f64> {
        let results = self.scenario(scenario)?;
        ratio(&results.row(contestant.key)?.rounds, &results.row(base.key)?.rounds, figure)
    }

    /// The ratio to the peer that is hardest to beat, which `worse` of two ratios tells.
    fn over_peers(
        &self,
        scenario: &str,
        contestant: Contestant,
        figure: Figure,
        worse: fn(f64, f64) -> f64,
    ) -> Option<f64> {
        let is_peer = |row: &Row| scenario::contestant(&row.key).is_some_and(|row| row.is_peer());
        self.over_rows(scenario, contestant, figure, worse, is_peer)
    }

    /// The same of those that `selects` says.
    fn over_rows(
        &self,
        scenario: &str,
        contestant: Contestant,
        figure: Figure,
        worse: fn(f64, f64) -> f64,
        selects: impl Fn(&Row) -> bool,
    ) -> Option<f64> {
        let results = self.scenario(scenario)?;
        let own = &results.row(contestant.key)?.rounds;
        let rows = results.rows.iter().filter(|row| selects(row));
        rows.filter_map(|row| ratio(own, &row.rounds, figure)).reduce(worse)
    }

    fn over_bound(&self, scenario: &str, contestant: Contestant) -> Option<f64> {
        let bound = self.scenario(scenario)?.bound_requests_per_second?;
        Some(self.median(scenario, contestant, Figure::RequestsPerSecond)? / bound)
    }
}

fn goal(what: &str, value: Option<f64>, (decimals, demand, aim): (usize, Demand, Option<Demand>)) -> Goal {
    let verdict = match value {
        None => Verdict::NotMeasured,
        Some(value) if !demand.is_met_by(value) => Verdict::Missed,
        Some(value) if aim.is_some_and(|aim| !aim.is_met_by(value)) => Verdict::Accepted,
        Some(_) => Verdict::Reached,
    };
    Goal { what: what.to_owned(), value, decimals, demand, aim, verdict }
}

impl Demand {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Demand::{AtLeast, AtMost};
    use super::*;
    use crate::bench::contestant::TAYET;
    use crate::bench::figure::Figures;
    use crate::bench::rounds::Standing;
    use crate::bench::syscalls::Syscalls;

    fn verdict(value: Option<f64>, demand: Demand, aim: Option<Demand>) -> Verdict {
        goal("x", value, (2, demand, aim)).verdict
    }

    #[test]
    fn verdicts_follow_the_demand_and_the_aim() {
        let (demand, aim) = (AtMost(1.3), Some(AtMost(1.2)));
        assert_eq!(verdict(Some(1.2), demand, aim), Verdict::Reached);
        assert_eq!(verdict(Some(1.25), demand, aim), Verdict::Accepted);
        assert_eq!(verdict(Some(1.31), demand, aim), Verdict::Missed);
        assert_eq!(verdict(None, demand, aim), Verdict::NotMeasured);
        assert_eq!(verdict(Some(0.96), AtLeast(0.97), None), Verdict::Missed);
        assert_eq!(verdict(Some(0.97), AtLeast(0.97), None), Verdict::Reached);
    }

    #[test]
    fn the_best_of_the_peers_is_the_one_to_beat() {
        let scenarios = Family::WebSockets.scenarios();
        let fan_out = scenarios.iter().find(|scenario| scenario.name == "websockets-fanout").unwrap();
        let deliveries = |key| match key {
            "tayet" => 90.0,
            "ntex" => 100.0,
            // The floor is no peer, and neither is Tayet itself.
            "websocket-floor" | "tayet-inline" => 1000.0,
            _ => 50.0,
        };
        let standing = |entry: &scenario::Entry| Standing {
            entry: *entry,
            samples: vec![Figures::from([(Figure::DeliveriesPerSecond, deliveries(entry.contestant.key))])],
            syscalls: Syscalls::new(),
            failures: Vec::new(),
        };
        let results = [Results::new(fan_out, fan_out.entries.iter().map(standing).collect())];
        let measured = Measured { scenarios: &results };
        let figure = Figure::DeliveriesPerSecond;
        assert_eq!(measured.over_peers("websockets-fanout", TAYET, figure, f64::min), Some(0.9));
    }

    #[test]
    fn what_was_not_measured_is_listed_all_the_same() {
        for family in Family::ALL {
            let goals = assess(family, &[]);
            assert!(!goals.is_empty(), "{family:?}");
            assert!(goals.iter().all(|goal| goal.verdict == Verdict::NotMeasured));
        }
    }

    #[test]
    fn every_goal_refers_to_scenarios_and_contestants_that_exist() {
        let every_figure = Figures::from(
            [
                Figure::RequestsPerSecond,
                Figure::CpuUsPerRequest,
                Figure::UserUsPerRequest,
                Figure::P99Us,
                Figure::AnsweredBesideIdle,
                Figure::BytesPerIdleConnection,
                Figure::PeakRssMb,
                Figure::PssMb,
                Figure::CpuUsPerMessage,
                Figure::CpuUsPerDelivery,
                Figure::DeliveriesPerSecond,
                Figure::MibPerSecond,
                Figure::CpuMsPerGib,
                Figure::BytesPerSocket,
                Figure::Sockets,
                Figure::Pinged,
            ]
            .map(|figure| (figure, 1.0)),
        );
        let standing = |entry: &scenario::Entry| Standing {
            entry: *entry,
            samples: vec![every_figure.clone()],
            syscalls: Syscalls::new(),
            failures: Vec::new(),
        };
        for family in Family::ALL {
            let results: Vec<_> = family
                .scenarios()
                .iter()
                .map(|scenario| Results::new(scenario, scenario.entries.iter().map(standing).collect()))
                .collect();
            let goals = assess(family, &results);
            let missing: Vec<_> = goals.into_iter().filter(|goal| goal.value.is_none()).collect();
            assert!(missing.is_empty(), "{}", missing[0].what);
        }
    }
}
