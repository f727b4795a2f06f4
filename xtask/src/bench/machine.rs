//! On what something was measured.

use std::fs;
use std::thread;

use anyhow::Context;
use serde::Serialize;

use super::system_memory;

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

fn value_of(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
