//! Writing the report: into the repository when it is complete, beside the build's files when it is not.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::report::Report;
use super::{chart, table};
use crate::workspace::Workspace;

const PAGE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- bench:begin, written by `cargo xtask bench` -->";
const END: &str = "<!-- bench:end -->";

/// Writes all forms of the report and says where they are.
pub(super) fn write(workspace: &Workspace, report: &Report) -> anyhow::Result<()> {
    let markdown = table::markdown(report);
    let json = serde_json::to_string_pretty(report)? + "\n";
    let chart = chart::svg(report);
    if report.settings.is_complete {
        let results = workspace.path("bench/results");
        let name = format!("{}-{}.json", report.date, report.machine.slug());
        write_all(&results, &[(&name, &json), ("latest.json", &json), ("latest.svg", &chart)])?;
        let page = workspace.path(PAGE);
        let text = fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
        let text = replace_between_marks(&text, &markdown).with_context(|| format!("{PAGE} has no marks"))?;
        write_all(page.parent().unwrap_or(&page), &[("benchmarks.md", &text)])
    } else {
        let results = workspace.path("target/bench");
        write_all(&results, &[("results.json", &json), ("results.svg", &chart), ("results.md", &markdown)])
    }
}

fn write_all(directory: &Path, files: &[(&str, &str)]) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    for (name, text) in files {
        let path: PathBuf = directory.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        println!("bench: wrote {}", path.display());
    }
    Ok(())
}

fn replace_between_marks(page: &str, markdown: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", markdown.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = format!("# Page\n{BEGIN}\nold\n{END}\nend\n");
        let expected = format!("# Page\n{BEGIN}\n\nnew\n\n{END}\nend\n");
        assert_eq!(replace_between_marks(&page, "new\n").unwrap(), expected);
        assert_eq!(replace_between_marks(&expected, "new\n").unwrap(), expected);
        assert_eq!(replace_between_marks("# Page\n", "new"), None);
    }
}
