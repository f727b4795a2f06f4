//! Why there is no io_uring here.

use std::fmt;
use std::io;

use rustix::io::Errno;

use super::surroundings::Surroundings;

/// Why the kernel gives no ring, or none that is of use.
#[derive(Debug)]
pub enum Unavailable {
    /// The kernel lacks something; Linux 6.1 has it all.
    TooOld {
        /// What it lacks.
        missing: &'static str,
    },
    /// The kernel has no io_uring at all: it is too old, or was built without.
    Absent,
    /// Somebody has forbidden it.
    Forbidden {
        /// By what means.
        by: &'static str,
    },
    /// The memory that the process may lock does not suffice (`RLIMIT_MEMLOCK`): each loop takes some 148 KiB, but of the
    /// privileged none is asked.
    LockedMemory {
        /// How many bytes it may lock.
        limit_bytes: u64,
    },
    /// Something else.
    Other(io::Error),
}

impl Unavailable {
    /// What an error means by which the kernel refuses a call for `what`, given what stands around the process.
    pub(super) fn from_refusal(error: io::Error, what: &'static str, around: &Surroundings) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOSYS) if around.has_seccomp_filter => Self::Forbidden { by: "a seccomp filter" },
            Some(Errno::NOSYS) => Self::Absent,
            Some(Errno::INVAL) => Self::TooOld { missing: what },
            Some(Errno::PERM | Errno::ACCESS) => Self::Forbidden { by: who_forbids(around) },
            Some(Errno::NOMEM) => match around.locked_memory_bytes {
                Some(limit_bytes) => Self::LockedMemory { limit_bytes },
                None => Self::Other(error),
            },
            _ => Self::Other(error),
        }
    }
}

fn who_forbids(around: &Surroundings) -> &'static str {
    match around.sysctl.as_deref() {
        Some("1") => "the sysctl kernel.io_uring_disabled (1: to all but its kernel.io_uring_group)",
        Some("0") | None if around.has_seccomp_filter => "a seccomp filter",
        Some("0") | None => "a security module",
        Some(_) => "the sysctl kernel.io_uring_disabled",
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { missing } => {
                write!(f, "the kernel is too old: its io_uring has no {missing} (Linux 6.1 does)")
            }
            Self::Absent => f.write_str("the kernel is too old or was built without io_uring"),
            Self::Forbidden { by } => write!(f, "io_uring is forbidden by {by}"),
            Self::LockedMemory { limit_bytes } => {
                write!(
                    f,
                    "the process may not lock the memory of io_uring (RLIMIT_MEMLOCK is {limit_bytes} bytes)"
                )
            }
            Self::Other(error) => write!(f, "io_uring could not be set up: {error}"),
        }
    }
}

impl std::error::Error for Unavailable {}

impl From<Unavailable> for io::Error {
    fn from(unavailable: Unavailable) -> Self {
        Self::new(io::ErrorKind::Unsupported, unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(sysctl: Option<&str>, has_seccomp_filter: bool) -> Surroundings {
        Surroundings {
            sysctl: sysctl.map(str::to_owned),
            has_seccomp_filter,
            locked_memory_bytes: Some(65_536),
        }
    }

    #[test]
    fn each_refusal_of_the_kernel_says_what_it_means() {
        for (errno, around, expected) in [
            (Errno::NOSYS, around(None, false), "too old or was built without"),
            (Errno::NOSYS, around(Some("0"), true), "forbidden by a seccomp filter"),
            (Errno::INVAL, around(None, false), "too old: its io_uring has no rings of buffers"),
            (Errno::PERM, around(Some("2"), true), "by the sysctl kernel.io_uring_disabled"),
            (Errno::PERM, around(Some("1"), false), "kernel.io_uring_group"),
            (Errno::PERM, around(Some("0"), true), "a seccomp filter"),
            (Errno::ACCESS, around(None, false), "a security module"),
            (Errno::NOMEM, around(None, false), "RLIMIT_MEMLOCK is 65536 bytes"),
            (Errno::MFILE, around(Some("0"), false), "could not be set up"),
        ] {
            let text = Unavailable::from_refusal(errno.into(), "rings of buffers", &around).to_string();
            assert!(text.contains(expected), "{errno}: {text}");
        }
    }

    #[test]
    fn memory_that_may_be_locked_without_limit_is_not_to_blame() {
        let around = Surroundings { locked_memory_bytes: None, ..around(None, false) };
        let unavailable = Unavailable::from_refusal(Errno::NOMEM.into(), "rings of buffers", &around);
        assert!(matches!(unavailable, Unavailable::Other(_)), "{unavailable}");
    }
}
