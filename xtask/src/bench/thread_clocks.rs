//! CPU time to the nanosecond, thread by thread: of a short turn, the 10 ms that the kernel counts a process's time by are too much.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use anyhow::Context;

/// What each thread of some processes has used so far.
pub(super) struct ThreadClocks(BTreeMap<String, Duration>);

impl ThreadClocks {
    /// Reads the clocks of all threads of the processes.
    pub(super) fn read(pids: &BTreeSet<u32>) -> anyhow::Result<Self> {
        let mut clocks = BTreeMap::new();
        for pid in pids {
            let threads = format!("/proc/{pid}/task");
            for thread in fs::read_dir(&threads).with_context(|| format!("reading {threads}"))? {
                let path = thread?.path().join("schedstat");
                // A thread that has ended since the directory was read has none.
                let Ok(text) = fs::read_to_string(&path) else { continue };
                let ran = parse_schedstat(&text);
                let ran = ran.with_context(|| format!("{} is not as expected: {text}", path.display()))?;
                clocks.insert(path.display().to_string(), ran);
            }
        }
        Ok(Self(clocks))
    }

    /// What they used since `earlier`. What a thread used that has ended meanwhile is not known.
    pub(super) fn since(&self, earlier: &Self) -> Duration {
        let used = self
            .0
            .iter()
            .map(|(thread, ran)| ran.saturating_sub(earlier.0.get(thread).copied().unwrap_or_default()));
        used.sum()
    }
}

/// The time on a core is the first of the numbers.
fn parse_schedstat(text: &str) -> Option<Duration> {
    let ran_ns = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ran_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(threads: &[(&str, u64)]) -> ThreadClocks {
        let clock = |(thread, ns): &(&str, u64)| ((*thread).to_owned(), Duration::from_nanos(*ns));
        ThreadClocks(threads.iter().map(clock).collect())
    }

    #[test]
    fn threads_that_begin_count_and_those_that_end_do_not() {
        let (before, after) = (clocks(&[("a", 100), ("b", 7)]), clocks(&[("a", 130), ("c", 5)]));
        assert_eq!(after.since(&before), Duration::from_nanos(35));
    }

    #[test]
    fn the_first_number_is_the_time_on_a_core() {
        assert_eq!(parse_schedstat("1234 99 5\n"), Some(Duration::from_nanos(1234)));
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn this_process_has_used_some() {
        let own = BTreeSet::from([std::process::id()]);
        assert!(ThreadClocks::read(&own).unwrap().since(&clocks(&[])) > Duration::ZERO);
    }
}
