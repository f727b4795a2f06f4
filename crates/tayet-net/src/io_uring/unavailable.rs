//! Why there is no io_uring here.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// Why the kernel gives no ring, or none that is of use.
#[derive(Debug)]
pub enum Unavailable {
    /// The kernel lacks something; Linux 6.0 has it all.
    TooOld {
        /// What it lacks.
        missing: &'static str,
    },
    /// Somebody has forbidden it.
    Forbidden {
        /// By what means.
        by: &'static str,
    },
    /// The memory that the process may lock does not suffice (`RLIMIT_MEMLOCK`).
    LockedMemory,
    /// Something else.
    Other(io::Error),
}

impl Unavailable {
    /// What the error of setting up a ring says, where `sysctl` is the value of `kernel.io_uring_disabled`, if there is one.
    pub(super) fn from_setup(error: io::Error, sysctl: Option<&str>) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOSYS) => Self::TooOld { missing: "io_uring" },
            Some(Errno::INVAL) => Self::TooOld { missing: "cooperative task running" },
            Some(Errno::PERM | Errno::ACCESS) => Self::Forbidden {
                by: match sysctl {
                    Some("0") | None => "seccomp or a security module",
                    Some(_) => "the sysctl kernel.io_uring_disabled",
                },
            },
            Some(Errno::NOMEM) => Self::LockedMemory,
            _ => Self::Other(error),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { missing } => {
                write!(f, "the kernel is too old: it has no {missing} (Linux 6.0 does)")
            }
            Self::Forbidden { by } => write!(f, "io_uring is forbidden by {by}"),
            Self::LockedMemory => f.write_str("the process may not lock enough memory (RLIMIT_MEMLOCK)"),
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

    #[test]
    fn each_refusal_of_the_kernel_says_what_it_means() {
        for (errno, sysctl, expected) in [
            (Errno::NOSYS, None, "too old"),
            (Errno::INVAL, Some("0"), "too old"),
            (Errno::PERM, Some("2"), "the sysctl kernel.io_uring_disabled"),
            (Errno::PERM, Some("0"), "seccomp"),
            (Errno::ACCESS, None, "seccomp"),
            (Errno::NOMEM, Some("0"), "RLIMIT_MEMLOCK"),
            (Errno::MFILE, Some("0"), "could not be set up"),
        ] {
            let text = Unavailable::from_setup(errno.into(), sysctl).to_string();
            assert!(text.contains(expected), "{errno}: {text}");
        }
    }
}
