//! `cargo xtask bench`: Tayet and its peers on the same work, taking turns.

pub(crate) mod background;
mod chart;
mod client;
mod clocks;
mod contestant;
mod crowd;
mod database;
mod extent;
mod figure;
mod files;
mod goals;
mod instructions;
mod launch;
mod load;
mod load_process;
mod machine;
mod paced;
mod page_cache;
mod process_stat;
pub(crate) mod programs;
pub(crate) mod progress;
mod publish;
mod ratchet;
mod report;
mod rounds;
mod scenario;
mod scratch;
mod server;
mod settings;
mod short_turns;
mod syscalls;
mod system_limits;
mod system_memory;
mod table;
mod thread_clocks;
mod turn;
mod upload;
mod versions;
mod websocket;
mod websocket_idle;
mod wrk;
mod ws_load;
mod wsgi;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use jiff::Timestamp;

use self::database::Database;
use self::machine::Machine;
use self::programs::Programs;
use self::progress::Progress;
use self::report::{Report, Results, Run};
use self::scenario::mongo::KEEPER;
use self::scenario::{Family, Scenario, Work};
use self::settings::Settings;
use crate::process::Runner;
use crate::workspace::Workspace;

pub(crate) use self::ratchet::{Ratchet, run as check_instructions};
pub(crate) use self::settings::BenchArgs;

/// What every measurement needs.
struct Harness<'a> {
    workspace: &'a Workspace,
    runner: &'a Runner,
    settings: Settings,
    programs: Programs,
    database: OnceCell<Database>,
}

/// Builds what takes part, measures what `args` ask for, and writes a report for each family.
///
/// A contestant that cannot be built, started or measured is in the report with the reason; it fails nothing else.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> anyhow::Result<()> {
    let scenarios = args.select(scenario::all())?;
    if args.list {
        list(&scenarios);
        return Ok(());
    }
    let runner = Runner::new()?;
    if let Some(ratchet) = args.instructions {
        return ratchet::run(workspace, &runner, ratchet);
    }
    let settings = args.settings();
    let programs = build(workspace, &runner, &scenarios)?;
    if args.build {
        return Ok(());
    }
    let harness = Harness { workspace, runner: &runner, settings, programs, database: OnceCell::new() };
    let mut results = measure(&harness, &scenarios)?;
    let versions = versions(workspace, &scenarios)?;
    let run = Run { at: Timestamp::now(), machine: Machine::here()?, settings: harness.settings, versions };
    for family in Family::ALL {
        let of_family: Vec<_> = results.extract_if(.., |results| results.family == family).collect();
        if !of_family.is_empty() {
            let report = Report::new(family, &run, of_family);
            print!("\n{}", table::markdown(&report));
            publish::write(workspace, &report)?;
        }
    }
    Ok(())
}

impl Harness<'_> {
    /// The database, which is started when it is first asked for.
    fn database(&self) -> anyhow::Result<&Database> {
        if self.database.get().is_none() {
            let database = Database::start(self.workspace, &self.programs)?;
            self.database.get_or_init(|| database);
        }
        self.database.get().context("it was set just now")
    }

    /// An error when the user has asked to stop.
    fn check_interrupt(&self) -> anyhow::Result<()> {
        ensure!(!self.runner.is_interrupted(), "interrupted");
        Ok(())
    }
}

fn list(scenarios: &[Scenario]) {
    for scenario in scenarios {
        println!("{:<12} {}", scenario.name, scenario.title);
        let keys: Vec<_> = scenario.entries.iter().map(|entry| entry.contestant.key).collect();
        println!("{:<12} {}", "", keys.join(" "));
    }
}

fn build(workspace: &Workspace, runner: &Runner, scenarios: &[Scenario]) -> anyhow::Result<Programs> {
    let needs_valgrind = scenarios.iter().any(|scenario| scenario.work == Work::Instructions);
    let tools: &[&str] = if needs_valgrind { &["wrk", "strace", "valgrind"] } else { &["wrk", "strace"] };
    for tool in tools {
        programs::install(runner, tool)?;
    }
    let entries = scenarios.iter().flat_map(|scenario| &scenario.entries);
    let mut wanted: BTreeSet<_> = entries.map(|entry| entry.contestant.program).collect();
    if scenarios.iter().any(Scenario::asks_database) {
        wanted.insert(KEEPER.program);
    }
    let programs = Programs::build(workspace, runner, &wanted)?;
    let helpers = scenarios.iter().filter_map(Scenario::helper).collect();
    programs.with_helpers(workspace, runner, &helpers)
}

fn measure(harness: &Harness<'_>, scenarios: &[Scenario]) -> anyhow::Result<Vec<Results>> {
    let turns = scenarios.iter().map(|scenario| rounds::count_turns(scenario, &harness.settings)).sum();
    let mut progress = Progress::new(turns);
    scenarios
        .iter()
        .map(|scenario| Ok(Results::new(scenario, rounds::run(harness, scenario, &mut progress)?)))
        .collect()
}

fn versions(workspace: &Workspace, scenarios: &[Scenario]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut versions = BTreeMap::new();
    for entry in scenarios.iter().flat_map(|scenario| &scenario.entries) {
        if let Some(version) = versions::version_of(workspace, entry.contestant.program)? {
            versions.insert(entry.contestant.name().to_owned(), version);
        }
    }
    Ok(versions)
}
