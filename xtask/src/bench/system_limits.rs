//! How many connections the machine lets a process, and all of them together, have.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows this process, and those that it starts from now on, so many descriptors, or as many as it can: past the hard
/// limit only root can, and not in every container. Returns how many there may be.
pub(super) fn allow_descriptors(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return limit.current.unwrap_or(u64::MAX);
    }
    let allowed = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let is_set = |current, maximum| setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok();
    if is_set(Some(wanted), limit.maximum.map(|maximum| maximum.max(wanted))) {
        wanted
    } else if is_set(Some(allowed), limit.maximum) {
        allowed
    } else {
        limit.current.unwrap_or(u64::MAX)
    }
}

/// The same, where fewer are of no use.
pub(super) fn require_descriptors(wanted: usize) -> anyhow::Result<()> {
    ensure!(allow_descriptors(wanted as u64) >= wanted as u64, "{wanted} descriptors are not allowed");
    Ok(())
}

/// Limits of the whole machine that have been raised; they are lowered again with the end of this value.
pub(super) struct RaisedLimits {
    before: Vec<(PathBuf, String)>,
}

impl RaisedLimits {
    /// Raises what so many connections on one machine, both ends of each, need. What cannot be raised stays: it may do.
    pub(super) fn for_connections(connections: u64) -> Self {
        let ends = 2 * connections;
        Self::raise(&[
            ("/proc/sys/fs/file-max", vec![ends + 100_000]),
            ("/proc/sys/net/core/somaxconn", vec![4096]),
            // In pages: a page for each end at most, since a publication is on its way to all at once.
            ("/proc/sys/net/ipv4/tcp_mem", vec![ends / 4, ends / 2, ends]),
            ("/proc/sys/net/netfilter/nf_conntrack_max", vec![ends]),
        ])
    }

    fn raise(wanted: &[(&str, Vec<u64>)]) -> Self {
        let mut before = Vec::new();
        for (path, values) in wanted {
            let path = Path::new(path);
            // A limit that is not there limits nothing.
            let Ok(text) = fs::read_to_string(path) else { continue };
            let Some(raised) = raised(&text, values) else { continue };
            if fs::write(path, raised).is_ok() {
                before.push((path.to_owned(), text));
            } else {
                eprintln!("bench: {} stays at {}", path.display(), text.trim());
            }
        }
        Self { before }
    }
}

impl Drop for RaisedLimits {
    fn drop(&mut self) {
        for (path, text) in &self.before {
            if let Err(error) = fs::write(path, text) {
                eprintln!("bench: cannot set {} to {} again: {error}", path.display(), text.trim());
            }
        }
    }
}

/// The values with those in place that are higher, or nothing when none is.
fn raised(text: &str, wanted: &[u64]) -> Option<String> {
    let now: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let raised: Vec<u64> = now.iter().zip(wanted).map(|(now, wanted)| *now.max(wanted)).collect();
    (raised != now).then(|| raised.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_raised_and_never_lowered() {
        assert_eq!(raised("100\t200\t300\n", &[150, 150, 350]).as_deref(), Some("150 200 350"));
        assert_eq!(raised("4096\n", &[4096]), None);
        assert_eq!(raised("max\n", &[4096]), None);
    }

    #[test]
    fn what_was_raised_is_lowered_again() {
        let path = std::env::temp_dir().join(format!("xtask-limit-{}", std::process::id()));
        fs::write(&path, "5\n").unwrap();
        let limits = RaisedLimits::raise(&[(path.to_str().unwrap(), vec![7]), ("/no/such/limit", vec![1])]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "7");
        drop(limits);
        assert_eq!(fs::read_to_string(&path).unwrap(), "5\n");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn descriptors_that_are_allowed_already_stay_so() {
        let before = getrlimit(Resource::Nofile).current;
        assert!(allow_descriptors(1) >= 1);
        assert_eq!(getrlimit(Resource::Nofile).current, before);
    }
}
