//! The report as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::figure::Figure;
use super::goals::{Demand, Goal, Verdict};
use super::report::{Report, Results, Row};
use super::rounds::MAX_FOREIGN_CPU_PERCENT;
use super::scenario::Family;

/// The whole report, for a page that has a heading for its family.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = introduction(report);
    text.push_str(&goals_table(report.family, &report.goals));
    for results in &report.scenarios {
        text.push_str(&scenario_table(results));
    }
    text
}

/// A column: a figure, what it is in relation to something, or both in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Median(Figure),
    Ratio(Figure),
    OfBound,
}

fn introduction(report: &Report) -> String {
    let machine = &report.machine;
    let settings = &report.settings;
    let mut text = format!(
        "Measured on {} on {} ({} cores, {:.0} GB, Linux {}), {}, the load beside the server.\n\n",
        report.date,
        machine.processor,
        machine.cores,
        machine.memory_gb,
        machine.kernel,
        extent_in_time(report)
    );
    if !settings.is_thorough {
        text.push_str("**A shortened run: it shows that everything works, not how fast it is.**\n\n");
    }
    text.push_str(&divisions(&report.scenarios, settings.rounds).unwrap_or_default());
    if let Some(label) = report.extent.label() {
        let _ = writeln!(text, "{label}\n");
    }
    let versions: Vec<_> =
        report.versions.iter().map(|(title, version)| format!("{title} {version}")).collect();
    let _ = writeln!(text, "Versions: {}.\n", versions.join("; "));
    text
}

/// How often and how long each server was loaded.
fn extent_in_time(report: &Report) -> String {
    match report.scenarios.iter().find_map(|results| Some((results.turn_ms?, results.rounds()))) {
        Some((turn_ms, turns)) => format!("{turns} turns of {turn_ms} ms each"),
        None => format!("{} rounds of {} s each", report.settings.rounds, report.settings.load_seconds),
    }
}

/// Which scenarios took their time in more rounds than were asked for, each of them shorter.
fn divisions(scenarios: &[Results], asked_rounds: u32) -> Option<String> {
    let divided: Vec<_> = scenarios
        .iter()
        .filter(|results| results.turn_ms.is_none() && results.rounds() > asked_rounds as usize)
        .map(|results| format!("{} ({})", results.title, results.rounds()))
        .collect();
    let which = (!divided.is_empty()).then(|| divided.join("; "))?;
    Some(format!("The same time in more rounds, each of them shorter: {which}.\n\n"))
}

fn goals_table(family: Family, goals: &[Goal]) -> String {
    let mut text = format!(
        "### {}: goals\n\n| what | measured | asked | aimed at | |\n| --- | ---: | ---: | ---: | --- |\n",
        family.title()
    );
    for goal in goals {
        let demand = |demand: Demand| match demand {
            Demand::AtMost(limit) => format!("≤ {}", number(limit, goal.decimals)),
            Demand::AtLeast(limit) => format!("≥ {}", number(limit, goal.decimals)),
        };
        let value = goal.value.map_or_else(String::new, |value| number(value, goal.decimals));
        let verdict = match goal.verdict {
            Verdict::Reached => "reached",
            Verdict::Accepted => "accepted",
            Verdict::Missed => "**missed**",
            Verdict::NotMeasured => "**not measured**",
        };
        let aim = goal.aim.map_or_else(String::new, demand);
        let _ = writeln!(text, "| {} | {value} | {} | {aim} | {verdict} |", goal.what, demand(goal.demand));
    }
    text.push('\n');
    text
}

fn scenario_table(results: &Results) -> String {
    let columns = columns_of(results);
    let mut text = format!("### {}\n\n", results.title);
    if let Some(sentence) = comparison(results) {
        let _ = writeln!(text, "{sentence}\n");
    }
    if let Some(bound) = results.bound_requests_per_second {
        let _ = writeln!(text, "Bound: {} requests/s.\n", number(bound, 0));
    }
    let headings: Vec<_> = columns.iter().map(|column| column.heading()).collect();
    let _ = writeln!(text, "| server | {} |", headings.join(" | "));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(columns.len()));
    for row in &results.rows {
        let _ = writeln!(text, "| {} |{}", row.title, cells(results, row, &columns));
    }
    text.push('\n');
    for row in &results.rows {
        for caveat in row.caveats() {
            let _ = writeln!(text, "- {}: {caveat}", row.title);
        }
    }
    text.push_str(&disturbances(results).unwrap_or_default());
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}

fn disturbances(results: &Results) -> Option<String> {
    let disturbed: Vec<_> = results
        .rows
        .iter()
        .filter(|row| row.disturbed_rounds() > 0)
        .map(|row| format!("{} ({} of {})", row.title, row.disturbed_rounds(), row.rounds.len()))
        .collect();
    let who = (!disturbed.is_empty()).then(|| disturbed.join("; "))?;
    Some(format!(
        "- disturbed, as something else used over {MAX_FOREIGN_CPU_PERCENT:.0} % of the cores, in rounds: {who}\n"
    ))
}

/// What the ratios of the scenario are taken to.
fn comparison(results: &Results) -> Option<String> {
    let bases: BTreeSet<&str> = results.rows.iter().filter_map(|row| row.over.as_deref()).collect();
    let title_of = |key: &str| results.rows.iter().find(|row| row.key == key).map(|row| row.title.as_str());
    match bases.iter().collect::<Vec<_>>()[..] {
        [] => None,
        [base] => {
            let title = title_of(base)?;
            let has_intervals = results.rows.iter().any(|row| !row.intervals.is_empty());
            let interval =
                if has_intervals { "; in brackets, where that lies with 95 % confidence" } else { "" };
            Some(format!("× is to the {title} of the same round{interval}."))
        }
        _ => Some("× is to the first row of the same server, in the same round.".to_owned()),
    }
}

fn columns_of(results: &Results) -> Vec<Column> {
    let figures: BTreeSet<Figure> = results.rows.iter().flat_map(|row| row.medians.keys().copied()).collect();
    let has_ratio = |figure: &Figure| results.rows.iter().any(|row| row.ratios.contains_key(figure));
    let mut columns = Vec::new();
    for figure in figures.into_iter().filter(|figure| figure.is_column()) {
        columns.push(Column::Median(figure));
        if has_ratio(&figure) {
            columns.push(Column::Ratio(figure));
        }
        if figure == Figure::RequestsPerSecond && results.bound_requests_per_second.is_some() {
            columns.push(Column::OfBound);
        }
    }
    columns
}

fn cells(results: &Results, row: &Row, columns: &[Column]) -> String {
    if let Some(reason) = &row.failure {
        let reason = reason.replace('|', "/").replace('\n', " ");
        return format!(" **not measured: {reason}** |{}", " |".repeat(columns.len().saturating_sub(1)));
    }
    columns.iter().map(|column| format!(" {} |", column.cell(results, row).unwrap_or_default())).collect()
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Median(figure) => figure.heading(),
            Self::Ratio(_) => "×",
            Self::OfBound => "of the bound",
        }
    }

    fn cell(self, results: &Results, row: &Row) -> Option<String> {
        match self {
            Self::Median(figure) => Some(number(*row.medians.get(&figure)?, figure.decimals())),
            Self::Ratio(figure) => {
                let ratio = number(*row.ratios.get(&figure)?, 2);
                let Some(&(low, high)) = row.intervals.get(&figure) else { return Some(ratio) };
                Some(format!("{ratio} ({} to {})", number(low, 2), number(high, 2)))
            }
            Self::OfBound => {
                let share =
                    row.medians.get(&Figure::RequestsPerSecond)? / results.bound_requests_per_second?;
                Some(format!("{} %", number(100.0 * share, 1)))
            }
        }
    }
}

/// With a comma for each thousand.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::figure::Figures;
    use crate::bench::syscalls::Syscalls;

    fn row(key: &str, rps: f64, ratio: Option<f64>) -> Row {
        Row {
            key: key.to_owned(),
            title: key.to_uppercase(),
            failure: None,
            failures: Vec::new(),
            medians: Figures::from([(Figure::RequestsPerSecond, rps), (Figure::Errors, 0.0)]),
            over: ratio.map(|_| "floor".to_owned()),
            ratios: ratio.map(|ratio| (Figure::RequestsPerSecond, ratio)).into_iter().collect(),
            intervals: BTreeMap::new(),
            syscalls: Syscalls::new(),
            rounds: Vec::new(),
        }
    }

    fn results(rows: Vec<Row>, bound: Option<f64>) -> Results {
        Results {
            family: Family::Http,
            name: "x".to_owned(),
            title: "X".to_owned(),
            bound_requests_per_second: bound,
            turn_ms: None,
            rows,
        }
    }

    #[test]
    fn what_took_more_rounds_than_were_asked_for_is_named() {
        let measured = |rounds: usize| {
            let mut row = row("floor", 1.0, None);
            row.rounds = vec![Figures::new(); rounds];
            results(vec![row], None)
        };
        assert_eq!(divisions(&[measured(3), measured(1)], 3), None);
        let sentence = divisions(&[measured(3), measured(9)], 3).unwrap();
        assert_eq!(sentence, "The same time in more rounds, each of them shorter: X (9).\n\n");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(number(1_234_567.0, 0), "1,234,567");
        assert_eq!(number(999.5, 1), "999.5");
        assert_eq!(number(-1234.0, 0), "-1,234");
        assert_eq!(number(0.125, 2), "0.12");
    }

    #[test]
    fn a_table_has_the_ratio_beside_its_figure_and_says_to_what() {
        let table = scenario_table(&results(vec![row("floor", 2e5, None), row("go", 1e5, Some(0.5))], None));
        let expected = "### X\n\n× is to the FLOOR of the same round.\n\n| server | requests/s | × |\n\
            | --- | ---: | ---: |\n| FLOOR | 200,000 |  |\n| GO | 100,000 | 0.50 |\n\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn a_ratio_of_many_rounds_has_its_interval_behind_it() {
        let mut go = row("go", 1e5, Some(0.5));
        go.intervals.insert(Figure::RequestsPerSecond, (0.47, 0.52));
        let table = scenario_table(&results(vec![row("floor", 2e5, None), go], None));
        assert!(table.contains("of the same round; in brackets, where that lies"), "{table}");
        assert!(table.contains("| GO | 100,000 | 0.50 (0.47 to 0.52) |"), "{table}");
    }

    #[test]
    fn short_turns_are_no_shorter_rounds() {
        let mut row = row("floor", 1.0, None);
        row.rounds = vec![Figures::new(); 96];
        let results = Results { turn_ms: Some(200), ..results(vec![row], None) };
        assert_eq!(divisions(&[results], 3), None);
    }

    #[test]
    fn a_bound_stands_beside_the_figures_that_have_one() {
        let table = scenario_table(&results(vec![row("go", 950.0, None)], Some(1000.0)));
        assert!(table.contains("Bound: 1,000 requests/s."), "{table}");
        assert!(table.contains("| GO | 950 | 95.0 % |"), "{table}");
    }

    #[test]
    fn disturbances_are_gathered_in_a_line() {
        let mut disturbed = row("go", 1.0, None);
        disturbed.rounds = vec![Figures::from([(Figure::ForeignCpuPercent, 40.0)]), Figures::new()];
        let table = scenario_table(&results(vec![row("floor", 1.0, None), disturbed], None));
        assert!(table.ends_with("% of the cores, in rounds: GO (1 of 2)\n\n"), "{table}");
    }

    #[test]
    fn a_failure_stands_in_the_table_with_its_reason() {
        let mut failed = row("go", 0.0, None);
        failed.failure = Some("it broke|badly\nand so on".to_owned());
        let table = scenario_table(&results(vec![row("floor", 1.0, None), failed], None));
        assert!(table.contains("| GO | **not measured: it broke/badly and so on** |\n"), "{table}");
    }
}
