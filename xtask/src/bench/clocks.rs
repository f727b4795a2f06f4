//! The CPU clocks of all who take part, and how much of the cores something else used meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::process_stat::{CpuTicks, cpu_ticks, own_cpu_ticks};

/// The clocks, read at one moment.
pub(super) struct Clocks {
    at: Instant,
    server: CpuTicks,
    /// The harness and its load generators.
    harness: CpuTicks,
    /// All cores, whoever used them.
    busy: u64,
}

/// What was used between two moments.
#[derive(PartialEq, Debug)]
pub(super) struct Usage {
    pub(super) server_user: Duration,
    pub(super) server_system: Duration,
    /// What neither server nor load nor harness used, of all cores.
    pub(super) foreign_percent: f64,
}

impl Clocks {
    /// Reads the clocks; `server` is the server's processes. Load generators that have ended count too.
    pub(super) fn read(server: &BTreeSet<u32>) -> anyhow::Result<Self> {
        Self::read_beside(server, &BTreeSet::new())
    }

    /// The same beside load generators that run already.
    pub(super) fn read_beside(server: &BTreeSet<u32>, load: &BTreeSet<u32>) -> anyhow::Result<Self> {
        Ok(Self {
            at: Instant::now(),
            server: cpu_ticks(server)?,
            harness: own_cpu_ticks()? + cpu_ticks(load)?,
            busy: busy_ticks()?,
        })
    }

    /// What was used since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Usage {
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
        let server = self.server.since(earlier.server);
        let known = server + self.harness.since(earlier.harness);
        let foreign = self.busy.saturating_sub(earlier.busy).saturating_sub(known.total()) as f64;
        let elapsed = self.at.duration_since(earlier.at).as_secs_f64() * ticks_per_second;
        let duration = |ticks: u64| Duration::from_secs_f64(ticks as f64 / ticks_per_second);
        Usage {
            server_user: duration(server.user),
            server_system: duration(server.system),
            foreign_percent: 100.0 * foreign / (elapsed * cores),
        }
    }
}

impl Usage {
    /// The server's user and system time in microseconds, divided by `count`.
    pub(super) fn cpu_us_per(&self, count: f64) -> f64 {
        (self.server_user + self.server_system).as_secs_f64() * 1e6 / count
    }

    /// The same of its user time alone.
    pub(super) fn user_us_per(&self, count: f64) -> f64 {
        self.server_user.as_secs_f64() * 1e6 / count
    }
}

fn busy_ticks() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    parse_busy(&text).context("/proc/stat is not as expected")
}

/// Everything but idling and waiting for a disk. Time that the hypervisor gave to others is foreign, so it counts.
fn parse_busy(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    Some(user + nice + system + irq + softirq + steal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_all_but_idle_and_disk() {
        let text = "cpu  100 20 300 5000 400 7 8 9 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse_busy(text), Some(100 + 20 + 300 + 7 + 8 + 9));
        assert_eq!(parse_busy("cpu0 1 1 1 1 1 1 1 1\n"), None);
        assert_eq!(parse_busy("cpu  1 2 3\n"), None);
    }

    #[test]
    fn usage_is_the_difference_and_foreign_is_what_nobody_here_used() {
        let at = Instant::now();
        let clocks = |at, server: (u64, u64), harness, busy| Clocks {
            at,
            server: CpuTicks { user: server.0, system: server.1 },
            harness: CpuTicks { user: harness, system: 0 },
            busy,
        };
        let second = rustix::param::clock_ticks_per_second();
        let before = clocks(at, (7, 70), 5, 1_000);
        let later = at + Duration::from_secs(1);
        let after = clocks(later, (7 + second / 10, 70 + second / 2), 5 + second / 5, 1_000 + second);
        let cores = thread::available_parallelism().unwrap().get() as f64;
        let expected = Usage {
            server_user: Duration::from_millis(100),
            server_system: Duration::from_millis(500),
            foreign_percent: 20.0 / cores,
        };
        assert_eq!(after.since(&before), expected);
    }

    #[test]
    fn the_clocks_of_this_process_can_be_read() {
        let own = BTreeSet::from([std::process::id()]);
        let before = Clocks::read(&own).unwrap();
        assert!(Clocks::read(&own).unwrap().since(&before).foreign_percent >= 0.0);
    }
}
