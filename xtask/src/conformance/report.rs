//! What the suite found.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use super::suite::{AGENT, Run};

/// A case that isn't run, and why.
#[derive(Deserialize)]
pub(super) struct Skip {
    /// A case as the suite names it, or several with `*`.
    pub(super) case: String,
    reason: String,
}

/// The outcome of each case.
pub(super) struct Report {
    outcomes: BTreeMap<String, Option<Outcome>>,
    reports: PathBuf,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    behavior: String,
    behavior_close: String,
}

impl Skip {
    /// The list in a file, each entry of which must give its reason.
    pub(super) fn read_list(path: &Path) -> anyhow::Result<Vec<Self>> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let skips: Vec<Self> =
            serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
        for skip in &skips {
            ensure!(!skip.reason.trim().is_empty(), "{} is skipped without a reason", skip.case);
            println!("conformance: {} is skipped: {}", skip.case, skip.reason);
        }
        Ok(skips)
    }
}

impl Report {
    /// Reads what a run has left.
    pub(super) fn read(run: &Run) -> anyhow::Result<Self> {
        ensure!(!run.cases.is_empty(), "the suite ran no case");
        let path = run.reports.join("index.json");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&text, run)
    }

    fn parse(text: &str, run: &Run) -> anyhow::Result<Self> {
        let mut index: BTreeMap<String, BTreeMap<String, Outcome>> = serde_json::from_str(text)?;
        let found = index.remove(AGENT).unwrap_or_default();
        let outcomes = run.cases.iter().map(|case| (case.clone(), found.get(case).cloned())).collect();
        Ok(Self { outcomes, reports: run.reports.clone() })
    }

    /// Says how many cases came out how; fails if one did not pass.
    pub(super) fn conclude(&self) -> anyhow::Result<()> {
        let mut counts = BTreeMap::new();
        for outcome in self.outcomes.values().flatten() {
            *counts.entry(outcome.to_string()).or_insert(0) += 1;
        }
        for (outcome, count) in &counts {
            println!("conformance: {count:>4} {outcome}");
        }
        let failures = self.failures();
        if !failures.is_empty() {
            bail!(
                "{} of {} cases did not pass; see {}\n{}",
                failures.len(),
                self.outcomes.len(),
                self.reports.join("index.html").display(),
                failures.join("\n")
            );
        }
        Ok(())
    }

    fn failures(&self) -> Vec<String> {
        let failure = |(case, outcome): (&String, &Option<Outcome>)| match outcome {
            None => Some(format!("{case}: missing in the report")),
            Some(outcome) => (!outcome.is_passed()).then(|| format!("{case}: {outcome}")),
        };
        self.outcomes.iter().filter_map(failure).collect()
    }
}

impl Outcome {
    /// Cases without a right answer are informational; an answer that is right but late isn't strict.
    fn is_passed(&self) -> bool {
        let is_right = matches!(&self.behavior[..], "OK" | "NON-STRICT" | "INFORMATIONAL");
        is_right && matches!(&self.behavior_close[..], "OK" | "INFORMATIONAL")
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.behavior)?;
        if self.behavior_close != self.behavior {
            write!(f, ", closing {}", self.behavior_close)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(index: &str) -> Report {
        let cases = ["1.1.1", "1.1.2"].map(str::to_owned).into();
        Report::parse(index, &Run { cases, reports: PathBuf::new() }).unwrap()
    }

    fn index(second: &str, second_close: &str) -> String {
        format!(
            r#"{{"tayet": {{"1.1.1": {{"behavior": "OK", "behaviorClose": "OK", "duration": 1}},
                "1.1.2": {{"behavior": "{second}", "behaviorClose": "{second_close}"}}}}}}"#
        )
    }

    #[test]
    fn what_is_right_passes() {
        for (second, second_close) in [("OK", "OK"), ("NON-STRICT", "OK"), ("INFORMATIONAL", "INFORMATIONAL")]
        {
            report(&index(second, second_close)).conclude().unwrap();
        }
    }

    #[test]
    fn what_is_wrong_or_missing_fails() {
        for (second, second_close) in
            [("FAILED", "OK"), ("OK", "FAILED"), ("OK", "WRONG CODE"), ("UNIMPLEMENTED", "OK"), ("", "")]
        {
            assert_eq!(report(&index(second, second_close)).failures().len(), 1, "{second}, {second_close}");
        }
        assert_eq!(report("{}").failures(), ["1.1.1: missing in the report", "1.1.2: missing in the report"]);
        assert!(report("{}").conclude().is_err());
    }

    #[test]
    fn a_skip_without_a_reason_is_refused() {
        let path = std::env::temp_dir().join(format!("xtask-skips-{}", std::process::id()));
        fs::write(&path, r#"[{"case": "1.1.1", "reason": " "}]"#).unwrap();
        let error = Skip::read_list(&path).err().unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(error.to_string(), "1.1.1 is skipped without a reason");
    }

    #[test]
    fn each_entry_of_the_projects_list_has_a_reason() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance/skips.json");
        Skip::read_list(&path).unwrap();
    }
}
