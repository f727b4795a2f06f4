//! The order of turns: A B C, A B C, ... so that all of a round are measured under much the same conditions.

use super::Harness;
use super::figure::{Figure, Figures, medians};
use super::progress::Progress;
use super::scenario::{Entry, Scenario, Work};
use super::settings::Settings;
use super::short_turns::{self, ShortTurns, TURNS_A_START, Turns};
use super::syscalls::Syscalls;
use super::turn;

/// A turn in which something else used more of the cores than this is repeated.
pub(super) const MAX_FOREIGN_CPU_PERCENT: f64 = 10.0;

/// What came of an entry's turns.
pub(super) struct Standing {
    pub(super) entry: Entry,
    /// One for each round; empty for a round that failed.
    pub(super) samples: Vec<Figures>,
    /// Empty when they were not counted.
    pub(super) syscalls: Syscalls,
    /// Why rounds failed.
    pub(super) failures: Vec<String>,
}

/// How many turns a scenario takes, repetitions aside.
pub(super) fn count_turns(scenario: &Scenario, settings: &Settings) -> usize {
    let turns = scenario.turns(settings) as usize + usize::from(scenario.syscalls_figure().is_some());
    scenario.entries.len() * turns
}

/// Lets all entries of a scenario take their turns; an error means that the user wants to stop.
pub(super) fn run(
    harness: &Harness<'_>,
    scenario: &Scenario,
    progress: &mut Progress,
) -> anyhow::Result<Vec<Standing>> {
    let new = |entry: &Entry| Standing {
        entry: *entry,
        samples: Vec::new(),
        syscalls: Syscalls::new(),
        failures: Vec::new(),
    };
    let mut standings: Vec<_> = scenario.entries.iter().map(new).collect();
    if let Work::ShortTurns(habits) = scenario.work {
        run_together(harness, scenario, habits, &mut standings, progress)?;
        return Ok(standings);
    }
    let turns = scenario.turns(&harness.settings);
    for turn in 1..=turns {
        for standing in &mut standings {
            harness.check_interrupt()?;
            let what =
                format!("{}, turn {turn} of {turns}: {}", scenario.name, standing.entry.contestant.title);
            progress.begin(&what);
            let outcome = standing.take_turn(|entry| least_disturbed(harness, scenario, entry, progress));
            progress.end(&outcome);
        }
    }
    for standing in standings.iter_mut().filter(|_| scenario.syscalls_figure().is_some()) {
        harness.check_interrupt()?;
        progress.begin(&format!("{}, system calls: {}", scenario.name, standing.entry.contestant.title));
        let outcome = standing.take_tracing_turn(|entry| turn::count_syscalls(harness, scenario, entry));
        progress.end(&outcome);
    }
    Ok(standings)
}

/// Lets all entries take short turns, as often as all of them are to be started.
fn run_together(
    harness: &Harness<'_>,
    scenario: &Scenario,
    habits: ShortTurns,
    standings: &mut [Standing],
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let starts = scenario.turns(&harness.settings);
    for start in 1..=starts {
        harness.check_interrupt()?;
        let outcomes = short_turns::take(harness, scenario, &scenario.entries, habits)
            .unwrap_or_else(|error| short_turns::fail_all(standings.len(), &error));
        for (standing, turns) in standings.iter_mut().zip(outcomes) {
            let title = standing.entry.contestant.title;
            progress.begin(&format!("{}, start {start} of {starts}: {title}", scenario.name));
            progress.end(&standing.add_turns(turns));
        }
    }
    Ok(())
}

impl Standing {
    /// Whether any round was measured.
    pub(super) fn has_figures(&self) -> bool {
        self.samples.iter().any(|figures| !figures.is_empty())
    }

    fn take_turn(&mut self, turn: impl FnOnce(&Entry) -> anyhow::Result<Figures>) -> Result<String, String> {
        let outcome = turn(&self.entry).map_err(|error| format!("{error:#}"));
        self.samples.push(outcome.clone().unwrap_or_default());
        self.failures.extend(outcome.as_ref().err().cloned());
        outcome.map(|figures| summarize(&figures))
    }

    /// Adds the short turns of one start; those that could not be taken keep their places.
    fn add_turns(&mut self, turns: Turns) -> Result<String, String> {
        let outcome = turns.map_err(|error| format!("{error:#}"));
        self.failures.extend(outcome.as_ref().err().cloned());
        let none = || vec![Figures::new(); TURNS_A_START];
        self.samples.extend(outcome.as_ref().map_or_else(|_| none(), Clone::clone));
        outcome.map(|turns| summarize(&medians(&turns)))
    }

    /// Failing to trace is no failure of the entry: its system calls stay unknown.
    fn take_tracing_turn(
        &mut self,
        turn: impl FnOnce(&Entry) -> anyhow::Result<Syscalls>,
    ) -> Result<String, String> {
        if !self.has_figures() {
            return Err("left out, as there are no other figures".to_owned());
        }
        self.syscalls = turn(&self.entry).map_err(|error| format!("{error:#}"))?;
        Ok(format!("{:.2} each", self.syscalls.values().sum::<f64>()))
    }
}

/// Repeats a disturbed turn, a few times at most, and takes the best of them.
fn least_disturbed(
    harness: &Harness<'_>,
    scenario: &Scenario,
    entry: &Entry,
    progress: &Progress,
) -> anyhow::Result<Figures> {
    let mut best = turn::take(harness, scenario, entry)?;
    for _ in 0..harness.settings.repeats_when_disturbed {
        if foreign(&best) <= MAX_FOREIGN_CPU_PERCENT {
            break;
        }
        harness.check_interrupt()?;
        progress.note(&format!("something else used {:.0} % of the cores; again", foreign(&best)));
        let next = turn::take(harness, scenario, entry)?;
        if foreign(&next) < foreign(&best) {
            best = next;
        }
    }
    Ok(best)
}

fn foreign(figures: &Figures) -> f64 {
    figures.get(&Figure::ForeignCpuPercent).copied().unwrap_or(0.0)
}

/// The figures that tell most, for whoever watches.
fn summarize(figures: &Figures) -> String {
    const TELLING: &[Figure] = &[
        Figure::RequestsPerSecond,
        Figure::MessagesPerSecond,
        Figure::DeliveriesPerSecond,
        Figure::MibPerSecond,
        Figure::CpuUsPerRequest,
        Figure::CpuUsPerMessage,
        Figure::CpuUsPerDelivery,
        Figure::CpuMsPerGib,
        Figure::PeakRssMb,
        Figure::PssMb,
        Figure::P99Us,
        Figure::InstructionsPerRequest,
        Figure::AnsweredBesideIdle,
        Figure::IdleConnections,
        Figure::BytesPerIdleConnection,
        Figure::Sockets,
        Figure::BytesPerSocket,
        Figure::LastReceiptMs,
        Figure::Errors,
        Figure::ForeignCpuPercent,
    ];
    let told = TELLING.iter().filter_map(|figure| {
        let value = figures.get(figure)?;
        Some(format!("{} {value:.*}", figure.heading(), figure.decimals()))
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::bench::contestant::GO;

    fn standing() -> Standing {
        let entry = Entry { contestant: GO, over: None };
        Standing { entry, samples: Vec::new(), syscalls: Syscalls::new(), failures: Vec::new() }
    }

    fn hello() -> Figures {
        Figures::from([(Figure::RequestsPerSecond, 5.0)])
    }

    #[test]
    fn a_round_that_fails_keeps_its_place_and_the_next_is_tried() {
        let mut standing = standing();
        assert_eq!(standing.take_turn(|_| Err(anyhow!("it broke"))).unwrap_err(), "it broke");
        assert!(!standing.has_figures());
        assert_eq!(standing.take_turn(|_| Ok(hello())).unwrap(), "requests/s 5");
        assert!(standing.has_figures());
        assert_eq!(standing.samples, [Figures::new(), hello()]);
        assert_eq!(standing.failures, ["it broke"]);
    }

    #[test]
    fn short_turns_that_fail_keep_their_places_too() {
        let mut standing = standing();
        assert_eq!(standing.add_turns(Err(anyhow!("it broke"))).unwrap_err(), "it broke");
        assert_eq!(standing.add_turns(Ok(vec![hello(); TURNS_A_START])).unwrap(), "requests/s 5");
        let expected = [vec![Figures::new(); TURNS_A_START], vec![hello(); TURNS_A_START]].concat();
        assert_eq!(standing.samples, expected);
        assert_eq!(standing.failures, ["it broke"]);
    }

    #[test]
    fn what_cannot_be_traced_keeps_its_figures() {
        let mut standing = standing();
        standing.take_turn(|_| Ok(hello())).unwrap();
        standing.take_tracing_turn(|_| Err(anyhow!("no permission"))).unwrap_err();
        assert!(standing.failures.is_empty());
        let calls = Syscalls::from([("read".to_owned(), 1.0), ("write".to_owned(), 1.5)]);
        assert_eq!(standing.take_tracing_turn(|_| Ok(calls)).unwrap(), "2.50 each");
    }

    #[test]
    fn what_was_not_measured_is_not_traced() {
        let outcome = standing().take_tracing_turn(|_| panic!("there is nothing to trace"));
        assert_eq!(outcome.unwrap_err(), "left out, as there are no other figures");
    }
}
