//! Writing reports: beside the build's files, and into the repository if they are whole and tell how fast something is.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::report::Report;
use super::scenario::Family;
use super::{chart, table};
use crate::workspace::Workspace;

const PAGE: &str = "docs/benchmarks.md";
const RESULTS: &str = "bench/results";

/// Writes all forms of the report and says where they are.
pub(super) fn write(workspace: &Workspace, report: &Report) -> anyhow::Result<()> {
    let markdown = table::markdown(report);
    let json = serde_json::to_string_pretty(report)? + "\n";
    let chart = chart::svg(report);
    let forms = [("json", Some(&json)), ("svg", chart.as_ref()), ("md", Some(&markdown))];
    write_forms(&workspace.path("target/bench"), report.family.name(), &forms)?;
    let is_partial = report.extent.is_partial();
    if !report.settings.publishes(is_partial) {
        println!("bench: {RESULTS} stays as it is; --publish would keep this there");
        return Ok(());
    }
    let stem = stem(report);
    if is_partial {
        // The page has whole families, and a chart would look like one.
        return write_forms(&workspace.path(RESULTS), &stem, &forms[..1]);
    }
    write_forms(&workspace.path(RESULTS), &stem, &forms[..2])?;
    let picture = chart.map(|_| format!("![{}](../{RESULTS}/{stem}.svg)\n\n", report.family.title()));
    let page = workspace.path(PAGE);
    let text = fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
    let text = replace_between_marks(&text, report.family, &(picture.unwrap_or_default() + &markdown))
        .with_context(|| format!("{PAGE} has no marks for {}", report.family.name()))?;
    write_file(&page, &text)
}

/// What the files of a report are called. A later one takes the day's place, but a part only that of the same minute, and neither it
/// nor a shortened one a whole one's.
fn stem(report: &Report) -> String {
    let mut stem = format!("{}-{}-{}", report.date, report.machine.slug(), report.family.name());
    if report.extent.is_partial() {
        stem.push_str("-partial-");
        stem.push_str(&report.time.replace(':', ""));
    }
    if !report.settings.is_thorough {
        stem.push_str("-shortened");
    }
    stem
}

fn write_forms(directory: &Path, stem: &str, forms: &[(&str, Option<&String>)]) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    for (extension, text) in forms {
        if let Some(text) = text {
            write_file(&directory.join(format!("{stem}.{extension}")), text)?;
        }
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    println!("bench: wrote {}", path.display());
    Ok(())
}

/// The page with `markdown` as the results of `family`, if it has a place for them.
fn replace_between_marks(page: &str, family: Family, markdown: &str) -> Option<String> {
    let begin = format!("<!-- bench:begin {}, written by `cargo xtask bench` -->", family.name());
    let end = format!("<!-- bench:end {} -->", family.name());
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", markdown.trim()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::machine::Machine;
    use crate::bench::report::Run;
    use crate::bench::settings::Settings;

    #[test]
    fn parts_of_one_day_have_files_of_their_own() {
        let machine =
            Machine { processor: "CPU".to_owned(), cores: 2, memory_gb: 8.0, kernel: "6.1".to_owned() };
        let settings = Settings {
            rounds: 3,
            load_seconds: 3,
            idle_connections: 0,
            repeats_when_disturbed: 0,
            warms_up: true,
            is_thorough: true,
            publishes_all: true,
        };
        let at = "2026-11-27T13:42:59Z".parse().unwrap();
        let run = Run { at, machine, settings, versions: BTreeMap::new() };
        let report = Report::new(Family::Http, &run, Vec::new());
        assert_eq!(stem(&report), "2026-11-27-cpu-2-cores-http-partial-1342");
    }

    #[test]
    fn only_what_is_between_the_familys_marks_changes() {
        let page = "# Page\n<!-- bench:begin http, written by `cargo xtask bench` -->\nold\n<!-- bench:end http -->\nend\n";
        let expected = page.replace("\nold\n", "\n\nnew\n\n");
        assert_eq!(replace_between_marks(page, Family::Http, "new\n").unwrap(), expected);
        assert_eq!(replace_between_marks(&expected, Family::Http, "new\n").unwrap(), expected);
        assert_eq!(replace_between_marks(page, Family::WebSockets, "new"), None);
    }

    #[test]
    fn the_page_has_a_place_for_every_family() {
        let page = include_str!("../../../docs/benchmarks.md");
        for family in Family::ALL {
            assert!(replace_between_marks(page, family, "x").is_some(), "{family:?}");
        }
    }
}
