//! On what, and when, something was measured.

use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::Serialize;

use super::system_memory;

const SECONDS_PER_DAY: u64 = 86_400;

/// The machine, as far as it matters to figures.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) memory_gb: f64,
    pub(super) kernel: String,
}

impl Machine {
    pub(super) fn here() -> anyhow::Result<Self> {
        let read = |path: &str| fs::read_to_string(path).with_context(|| format!("reading {path}"));
        let processor =
            value_of(&read("/proc/cpuinfo")?, "model name").unwrap_or_else(|| "unknown".to_owned());
        Ok(Self {
            processor,
            cores: thread::available_parallelism()?.get(),
            memory_gb: (system_memory::total_bytes()? as f64 / 1e9).round(),
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        })
    }

    /// A name for files: no host's name, which tells nobody anything.
    pub(super) fn slug(&self) -> String {
        let described = format!("{} {} cores", self.processor, self.cores).to_lowercase();
        let words = described.split(|character: char| !character.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    }
}

/// Today in UTC, as YYYY-MM-DD.
pub(super) fn today() -> anyhow::Result<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(date_of_day(seconds / SECONDS_PER_DAY))
}

fn value_of(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == name).then(|| value.trim().to_owned())
    })
}

fn date_of_day(days_since_1970: u64) -> String {
    let mut days = days_since_1970;
    let mut year = 1970;
    while days >= days_in_year(year) {
        days -= days_in_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_in_month(year, month) {
        days -= days_in_month(year, month);
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(date_of_day(0), "1970-01-01");
        assert_eq!(date_of_day(59), "1970-03-01");
        assert_eq!(date_of_day(11_016), "2000-02-29");
        assert_eq!(date_of_day(20_088), "2024-12-31");
        assert_eq!(date_of_day(20_089), "2025-01-01");
    }

    #[test]
    fn the_slug_is_fit_for_a_file_name() {
        let machine = Machine {
            processor: "Some(R) CPU @ 3.00GHz".to_owned(),
            cores: 2,
            memory_gb: 8.0,
            kernel: "6.1".to_owned(),
        };
        assert_eq!(machine.slug(), "some-r-cpu-3-00ghz-2-cores");
    }

    #[test]
    fn values_are_found_by_their_whole_name() {
        let text = "model\t: 2\nmodel name\t: Some CPU\n";
        assert_eq!(value_of(text, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(value_of(text, "name"), None);
    }
}
