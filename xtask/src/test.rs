//! `cargo xtask test`: installs what the checks need, runs them in order, says what came of each.

mod checks;
mod needs;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use self::checks::{CHECKS, Check};
use crate::process::Runner;
use crate::workspace::Workspace;

/// Which checks to run.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Runs this check alone; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Leaves out the checks that take minutes, and says which.
    #[arg(long, conflicts_with = "only")]
    fast: bool,
    /// Lists the checks and runs none.
    #[arg(long)]
    list: bool,
}

/// What came of one check.
struct Report {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

enum Outcome {
    Passed,
    /// Passed as far as it ran; what was left out and why.
    PassedInPart(String),
    LeftOut(&'static str),
    Failed(anyhow::Error),
}

/// Runs the checks that `args` names; fails if any of them does.
pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> anyhow::Result<()> {
    if args.list {
        list();
        return Ok(());
    }
    let selected = select(args)?;
    let start = Instant::now();
    let runner = Runner::new()?;
    install(workspace, &runner, &selected)?;
    let mut reports = Vec::new();
    for (position, check) in selected.iter().enumerate() {
        println!("\n=== [{}/{}] {}: {} ===", position + 1, selected.len(), check.name, check.headline);
        reports.push(run_check(workspace, &runner, check, args.fast));
        if runner.is_interrupted() {
            break;
        }
    }
    summarize(&reports, start.elapsed())
}

fn list() {
    for check in CHECKS {
        println!("{:<10} {}", check.name, check.headline);
    }
}

fn select(args: &TestArgs) -> anyhow::Result<Vec<&'static Check>> {
    for name in &args.only {
        ensure!(
            CHECKS.iter().any(|check| check.name == name),
            "no check is called {name:?}; `cargo xtask test --list` lists them"
        );
    }
    let is_selected =
        |check: &&Check| args.only.is_empty() || args.only.iter().any(|name| name == check.name);
    Ok(CHECKS.iter().filter(is_selected).collect())
}

fn install(workspace: &Workspace, runner: &Runner, selected: &[&Check]) -> anyhow::Result<()> {
    let needs: BTreeSet<_> = selected.iter().flat_map(|check| check.needs).copied().collect();
    if needs.is_empty() {
        return Ok(());
    }
    println!("=== install: what the checks need ===");
    let start = Instant::now();
    needs::install(workspace, runner, &needs)?;
    println!("install: done in {}", seconds(start.elapsed()));
    Ok(())
}

fn run_check(workspace: &Workspace, runner: &Runner, check: &Check, fast: bool) -> Report {
    let start = Instant::now();
    let outcome = match check.too_slow_for_fast {
        Some(why) if fast => Outcome::LeftOut(why),
        _ => match (check.run)(workspace, runner) {
            Ok(None) => Outcome::Passed,
            Ok(Some(left_out)) => Outcome::PassedInPart(left_out),
            Err(error) => Outcome::Failed(error),
        },
    };
    let report = Report { name: check.name, outcome, took: start.elapsed() };
    println!("{report}");
    report
}

fn summarize(reports: &[Report], took: Duration) -> anyhow::Result<()> {
    println!("\n=== summary ===");
    for report in reports {
        // The rest of a long complaint stands above, where the check ran.
        println!("{}", report.to_string().lines().next().unwrap_or_default());
    }
    let failed = reports.iter().filter(|report| matches!(report.outcome, Outcome::Failed(_))).count();
    if failed > 0 {
        bail!("{failed} of {} checks failed, after {}", reports.len(), seconds(took));
    }
    println!("no check failed, after {}", seconds(took));
    Ok(())
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = format!("{:<10} {:>9}", self.name, seconds(self.took));
        match &self.outcome {
            Outcome::Passed => write!(f, "{name}  passed"),
            Outcome::PassedInPart(left_out) => write!(f, "{name}  passed, BUT LEFT OUT: {left_out}"),
            Outcome::LeftOut(why) => write!(f, "{name}  LEFT OUT by --fast: {why}"),
            Outcome::Failed(error) => write!(f, "{name}  FAILED: {error:#}"),
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(only: &[&str]) -> TestArgs {
        TestArgs { only: only.iter().map(ToString::to_string).collect(), fast: false, list: false }
    }

    fn report(outcome: Outcome) -> Report {
        Report { name: "x", outcome, took: Duration::from_millis(1500) }
    }

    #[test]
    fn all_checks_are_selected_unless_some_are_named() {
        assert_eq!(select(&args(&[])).unwrap().len(), CHECKS.len());
        let named: Vec<_> = select(&args(&["tidy", "fmt"])).unwrap().iter().map(|check| check.name).collect();
        assert_eq!(named, ["fmt", "tidy"]);
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let error = select(&args(&["nonsense"])).err().unwrap();
        assert!(error.to_string().contains("no check is called \"nonsense\""), "{error}");
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
    }

    #[test]
    fn one_failure_fails_the_whole() {
        let passed = || report(Outcome::Passed);
        let took = Duration::from_secs(3);
        summarize(&[passed(), report(Outcome::PassedInPart("advisories".into()))], took).unwrap();
        let failed = report(Outcome::Failed(anyhow::anyhow!("broken")));
        let error = summarize(&[passed(), failed], took).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 checks failed, after 3.0 s");
    }

    #[test]
    fn what_is_left_out_is_said() {
        let shown = report(Outcome::LeftOut("minutes")).to_string();
        assert!(shown.ends_with("LEFT OUT by --fast: minutes"), "{shown}");
    }
}
