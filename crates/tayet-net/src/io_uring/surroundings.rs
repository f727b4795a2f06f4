//! What stands around a process and may keep io_uring from it.

use rustix::process::{Resource, getrlimit};

/// The settings that explain why the kernel refuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Of `kernel.io_uring_disabled`, where there is one: 0 allows, 1 only the privileged and a group, 2 nobody.
    pub(super) sysctl: Option<String>,
    /// Whether a filter looks at the calling thread's system calls.
    pub(crate) has_seccomp_filter: bool,
    /// `RLIMIT_MEMLOCK`; `None` is no limit.
    pub(super) locked_memory_bytes: Option<u64>,
}

impl Surroundings {
    /// Those of the calling thread.
    pub(crate) fn of_current_thread() -> Self {
        let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        Self {
            sysctl: sysctl.map(|text| text.trim().to_owned()),
            has_seccomp_filter: has_seccomp_filter(&status),
            locked_memory_bytes: getrlimit(Resource::Memlock).current,
        }
    }
}

/// From a thread's `status`: mode 2 is a filter.
fn has_seccomp_filter(status: &str) -> bool {
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() == "2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mode_of_filters_is_a_filter() {
        assert!(has_seccomp_filter("Name:\ttayet\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!has_seccomp_filter("Seccomp:\t0\nSeccomp_filters:\t0\n"));
        assert!(!has_seccomp_filter(""));
    }
}
