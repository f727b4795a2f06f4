//! `cargo xtask tidy`: the style that reviewers would otherwise have to watch, as checks.

mod ignored;
mod length;
mod safety;
mod wording;

use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::workspace::Workspace;

/// Checks every file that git knows; the error lists every violation.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let mut violations = Vec::new();
    let mut checked = 0;
    for path in workspace.files()? {
        let bytes = fs::read(workspace.path(&path)).with_context(|| format!("reading {}", path.display()))?;
        // Pictures and test data are not ours to word.
        if let Ok(text) = String::from_utf8(bytes) {
            checked += 1;
            violations.extend(violations_in(&Source { path, text })?);
        }
    }
    violations.extend(safety::stale_entries(workspace)?);
    if !violations.is_empty() {
        bail!("{}", violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }
    println!("tidy: {checked} files in order");
    Ok(())
}

/// A text file of the repository.
struct Source {
    /// Relative to the root.
    path: PathBuf,
    text: String,
}

/// Something that a check found.
#[derive(PartialEq, Eq, Debug)]
struct Violation {
    path: PathBuf,
    /// From 1.
    line: usize,
    what: String,
}

fn violations_in(source: &Source) -> anyhow::Result<Vec<Violation>> {
    let mut violations = wording::violations(source);
    violations.extend(length::file_violation(source));
    if source.has_extension("py") {
        violations.extend(ignored::python_violations(source));
    }
    if source.has_extension("rs") {
        let file =
            syn::parse_file(&source.text).with_context(|| format!("parsing {}", source.path.display()))?;
        violations.extend(length::function_violations(source, &file));
        violations.extend(safety::violations(source, &file));
        violations.extend(ignored::rust_violations(source, &file));
    }
    Ok(violations)
}

impl Source {
    fn has_extension(&self, wanted: &str) -> bool {
        self.path.extension().is_some_and(|extension| extension == wanted)
    }

    fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, what: what.into() }
    }

    #[cfg(test)]
    fn new(path: impl Into<PathBuf>, text: &str) -> Self {
        Self { path: path.into(), text: text.to_owned() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}
