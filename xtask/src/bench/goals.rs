//! The figures that Tayet set out to reach, and whether it does.

use serde::Serialize;

use super::contestant::{
    Contestant, FLOOR, SLEEPER, TAYET, TAYET_4_THREADS, TAYET_100_THREADS, TAYET_INLINE,
};
use super::figure::{Figure, ratio};
use super::report::{Results, Row};
use super::scenario::{self, MILLION};

/// A figure with what is asked of it.
#[derive(Serialize)]
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

use Demand::{AtLeast, AtMost};

/// Every goal, assessed by `scenarios`.
pub(super) fn assess(scenarios: &[Results]) -> Vec<Goal> {
    let measured = Measured { scenarios };
    let mut goals = vec![
        goal(
            "hello, 64 connections: CPU a request, task pool over inline",
            measured.ratio("hello-64", TAYET, TAYET_INLINE, Figure::CpuUsPerRequest),
            (2, AtMost(1.10), None),
        ),
        goal(
            "hello, 64 connections: CPU a request, inline over the bare epoll loop",
            measured.ratio("hello-64", TAYET_INLINE, FLOOR, Figure::CpuUsPerRequest),
            (2, AtMost(1.10), Some(AtMost(1.05))),
        ),
        goal(
            "hello, 64 connections: CPU a request, task pool over the bare epoll loop",
            measured.ratio("hello-64", TAYET, FLOOR, Figure::CpuUsPerRequest),
            // What the two demands above come to together.
            (2, AtMost(1.21), Some(AtMost(1.05))),
        ),
        goal(
            "hello, 64 connections: user-space CPU µs a request, task pool",
            measured.median("hello-64", TAYET, Figure::UserUsPerRequest),
            (2, AtMost(1.0), Some(AtMost(0.8))),
        ),
        goal(
            "16 requests pipelined: requests/s, task pool over the bare epoll loop",
            measured.ratio("pipelined", TAYET, FLOOR, Figure::RequestsPerSecond),
            (2, AtLeast(0.90), Some(AtLeast(0.95))),
        ),
        goal(
            "dispatched hello: CPU a request, 4 threads over inline",
            measured.ratio("dispatched", TAYET_4_THREADS, TAYET_INLINE, Figure::CpuUsPerRequest),
            (2, AtMost(1.3), Some(AtMost(1.2))),
        ),
    ];
    goals.extend(sleep_goals(measured));
    goals.extend(websocket_goals(measured));
    goals.extend([
        goal(
            "mixed load: p99 µs of the fast route, task pool",
            measured.median("mixed", TAYET, Figure::P99Us),
            (0, AtMost(5_000.0), None),
        ),
        goal(
            "fairness: answered of 64 connections beside 10,000 idle ones, task pool",
            measured.median("fairness", TAYET, Figure::AnsweredBesideIdle),
            (0, AtLeast(64.0), None),
        ),
        goal(
            "memory: bytes an idle connection, task pool",
            measured.median("memory", TAYET, Figure::BytesPerIdleConnection),
            (0, AtMost(512.0), None),
        ),
        goal(
            "hello, 64 connections: peak RSS MB, task pool",
            measured.median("hello-64", TAYET, Figure::PeakRssMb),
            (1, AtMost(8.0), Some(AtMost(6.0))),
        ),
        goal(
            "hello, 512 connections: peak RSS MB, task pool",
            measured.median("hello-512", TAYET, Figure::PeakRssMb),
            (1, AtMost(8.0), None),
        ),
    ]);
    goals
}

fn sleep_goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (connections, scenario) in [(10, "sleep-10"), (50, "sleep-50"), (100, "sleep-100")] {
        for contestant in [TAYET, TAYET_100_THREADS] {
            goals.push(goal(
                &format!(
                    "10 ms sleep, {connections} connections: requests/s, {} over the bare sleeper",
                    contestant.title
                ),
                measured.ratio(scenario, contestant, SLEEPER, Figure::RequestsPerSecond),
                (2, AtLeast(0.97), None),
            ));
            goals.push(goal(
                &format!(
                    "10 ms sleep, {connections} connections: requests/s over the bound, {}",
                    contestant.title
                ),
                measured.over_bound(scenario, contestant),
                (3, AtMost(1.0), None),
            ));
        }
    }
    goals
}

fn websocket_goals(measured: Measured<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (sockets, scenario) in [(64, "websockets-echo-64"), (512, "websockets-echo-512")] {
        goals.push(goal(
            &format!("WebSocket echo, {sockets} sockets: CPU a message, task pool over the best peer"),
            measured.over_peers(scenario, TAYET, Figure::CpuUsPerMessage, f64::max),
            (2, AtMost(1.0), None),
        ));
    }
    goals.extend([
        goal(
            "publications to 10,000 WebSockets: CPU a delivery, task pool over the best peer",
            measured.over_peers("websockets-fanout", TAYET, Figure::CpuUsPerDelivery, f64::max),
            (2, AtMost(1.0), None),
        ),
        goal(
            "publications to 10,000 WebSockets: deliveries/s, task pool over the best peer",
            measured.over_peers("websockets-fanout", TAYET, Figure::DeliveriesPerSecond, f64::min),
            (2, AtLeast(1.0), None),
        ),
        goal(
            "idle WebSockets: bytes a socket, task pool",
            measured.median("websockets-idle", TAYET, Figure::BytesPerSocket),
            (0, AtMost(512.0), None),
        ),
        goal(
            "idle WebSockets with permessage-deflate: bytes a socket, task pool",
            measured.median("websockets-deflate", TAYET, Figure::BytesPerSocket),
            (0, AtMost(1024.0), None),
        ),
        goal(
            "WebSockets held at once on one machine, task pool (`--million`)",
            measured.median(MILLION, TAYET, Figure::Sockets),
            (0, AtLeast(1_000_000.0), None),
        ),
        goal(
            "of these, pinged (`--million`)",
            measured.median(MILLION, TAYET, Figure::Pinged),
            (0, AtLeast(1_000_000.0), None),
        ),
    ]);
    goals
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
        let results = self.scenario(scenario)?;
        let own = &results.row(contestant.key)?.rounds;
        let is_peer = |row: &&Row| scenario::contestant(&row.key).is_some_and(|row| row.is_peer());
        let ratios = results.rows.iter().filter(is_peer).filter_map(|row| ratio(own, &row.rounds, figure));
        ratios.reduce(worse)
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
    use super::*;
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
        let scenarios = scenario::all();
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
        let goals = assess(&[]);
        assert!(goals.len() > 10);
        assert!(goals.iter().all(|goal| goal.verdict == Verdict::NotMeasured));
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
                Figure::CpuUsPerMessage,
                Figure::CpuUsPerDelivery,
                Figure::DeliveriesPerSecond,
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
        let results: Vec<_> = scenario::all()
            .iter()
            .map(|scenario| Results::new(scenario, scenario.entries.iter().map(standing).collect()))
            .collect();
        let missing: Vec<_> = assess(&results).into_iter().filter(|goal| goal.value.is_none()).collect();
        assert!(missing.is_empty(), "{}", missing[0].what);
    }
}
