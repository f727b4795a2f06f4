//! What Linux tells about processes: their CPU time, memory and children.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Context;

/// CPU time of a process, or a sum of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CpuTicks {
    pub(super) user: u64,
    pub(super) system: u64,
}

/// A line of /proc/PID/stat, as far as it is needed.
#[derive(PartialEq, Eq, Debug)]
struct Stat {
    parent: u32,
    own: CpuTicks,
    /// Of the children that have ended and been waited for.
    ended_children: CpuTicks,
}

impl CpuTicks {
    pub(super) fn total(self) -> u64 {
        self.user + self.system
    }

    /// What was used since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

impl std::ops::Add for CpuTicks {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

/// `root` and all that descends from it: a server's workers are its own.
pub(super) fn family(root: u32) -> anyhow::Result<BTreeSet<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // A process that ended since the directory was read belongs to nobody.
        if let Ok(stat) = stat_of(&pid.to_string()) {
            parents.push((pid, stat.parent));
        }
    }
    Ok(descendants(root, &parents))
}

/// The CPU time that the processes have used so far, ended threads included.
pub(super) fn cpu_ticks(pids: &BTreeSet<u32>) -> anyhow::Result<CpuTicks> {
    pids.iter().try_fold(CpuTicks::default(), |sum, pid| Ok(sum + stat_of(&pid.to_string())?.own))
}

/// The CPU time of this process and of the children that it has waited for.
pub(super) fn own_cpu_ticks() -> anyhow::Result<CpuTicks> {
    let stat = stat_of("self")?;
    Ok(stat.own + stat.ended_children)
}

/// Resident memory in bytes, summed over the processes.
pub(super) fn resident_bytes(pids: &BTreeSet<u32>) -> anyhow::Result<u64> {
    sum_status(pids, "VmRSS")
}

/// The most resident memory that the processes ever had, in bytes, summed.
pub(super) fn peak_resident_bytes(pids: &BTreeSet<u32>) -> anyhow::Result<u64> {
    sum_status(pids, "VmHWM")
}

/// Resident memory in bytes, summed, of which what the processes share is counted once. What others have in common with them, such
/// as the C library, counts by their part of it.
pub(super) fn proportional_bytes(pids: &BTreeSet<u32>) -> anyhow::Result<u64> {
    sum_field(pids, "smaps_rollup", "Pss")
}

fn sum_status(pids: &BTreeSet<u32>, field: &str) -> anyhow::Result<u64> {
    sum_field(pids, "status", field)
}

fn sum_field(pids: &BTreeSet<u32>, file: &str, field: &str) -> anyhow::Result<u64> {
    pids.iter().try_fold(0, |sum, pid| {
        let path = format!("/proc/{pid}/{file}");
        let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        Ok(sum + parse_status_bytes(&status, field).with_context(|| format!("{path} has no {field}"))?)
    })
}

fn stat_of(pid: &str) -> anyhow::Result<Stat> {
    let path = format!("/proc/{pid}/stat");
    let line = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    parse_stat(&line).with_context(|| format!("{path} is not as expected: {line}"))
}

fn parse_stat(line: &str) -> Option<Stat> {
    // The program's name stands in parentheses and may contain anything, parentheses and spaces too.
    let (_, fields) = line.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Field 3 of proc(5) is the first one here.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(field(4)?).ok()?,
        own: CpuTicks { user: field(14)?, system: field(15)? },
        ended_children: CpuTicks { user: field(16)?, system: field(17)? },
    })
}

/// A size from a file such as /proc/PID/status or /proc/meminfo.
pub(super) fn parse_status_bytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kilobytes * 1024)
}

fn descendants(root: u32, parents: &[(u32, u32)]) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let more = parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid);
        let more: BTreeSet<u32> = more.filter(|pid| !found.contains(pid)).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    const LINE: &str =
        "4242 (a) b ( c)) S 17 4242 17 34816 4242 4194304 9001 30 1 0 250 1270 11 13 20 0 5 0 91 1 2 3";

    #[test]
    fn a_stat_line_is_read_behind_any_program_name() {
        let stat = parse_stat(LINE).unwrap();
        assert_eq!(stat.parent, 17);
        assert_eq!(stat.own, CpuTicks { user: 250, system: 1270 });
        assert_eq!(stat.ended_children, CpuTicks { user: 11, system: 13 });
    }

    #[test]
    fn a_stat_line_that_is_cut_off_is_refused() {
        assert_eq!(parse_stat("4242 (server) S 17 4242"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn memory_is_read_by_its_whole_name_in_bytes() {
        let status = "Name:\tserver\nVmHWM:\t   12 kB\nVmRSS:\t    8 kB\nRssAnon:\t 4 kB\n";
        assert_eq!(parse_status_bytes(status, "VmRSS"), Some(8192));
        assert_eq!(parse_status_bytes(status, "VmHWM"), Some(12288));
        assert_eq!(parse_status_bytes(status, "Vm"), None);
    }

    #[test]
    fn a_family_is_the_root_with_all_generations_below_it() {
        let parents = [(1, 0), (7, 5), (5, 1), (6, 5), (9, 7), (8, 1)];
        assert_eq!(descendants(5, &parents), BTreeSet::from([5, 6, 7, 9]));
        assert_eq!(descendants(8, &parents), BTreeSet::from([8]));
    }

    #[test]
    fn this_process_has_itself_memory_and_time() {
        let own = BTreeSet::from([std::process::id()]);
        assert!(family(std::process::id()).unwrap().is_superset(&own));
        assert!(resident_bytes(&own).unwrap() > 0);
        assert!(proportional_bytes(&own).unwrap() > 0);
        cpu_ticks(&own).unwrap();
    }

    /// Of another process than this one, in which other tests take memory and give it back between two readings.
    #[test]
    fn a_process_never_had_less_than_it_has() {
        let mut idle = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // When it has given this back, it has started and waits.
        idle.stdin.as_mut().unwrap().write_all(b".").unwrap();
        idle.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let pids = BTreeSet::from([idle.id()]);
        let resident = resident_bytes(&pids).unwrap();
        let peak = peak_resident_bytes(&pids).unwrap();
        drop(idle.stdin.take());
        idle.wait().unwrap();
        assert!(resident > 0);
        assert!(peak >= resident, "{peak} bytes at most, {resident} now");
    }
}
