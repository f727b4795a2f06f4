//! Which driver a server gets, and why: what the log says of it.

use std::fmt;

use crate::io_uring::Surroundings;
use crate::{IoDriver, IoUring, Unavailable};

/// The driver that was chosen, and the reason.
#[derive(Debug)]
pub(crate) enum IoChoice {
    /// This one was asked for by its name.
    Asked(IoDriver),
    /// Epoll, though the kernel would give io_uring, too: it was found to save a few percent of a small request's CPU, and to cost more
    /// where much is received, or where a loop with many connections changes its thread.
    Evidence,
    /// Epoll, since there is no io_uring.
    Refused(Unavailable),
    /// Epoll; whether there were io_uring is not known, since some filters end a process that asks.
    Filtered,
}

impl IoChoice {
    /// What `io` comes to on this system.
    pub(crate) fn of(io: IoDriver) -> Self {
        match io {
            IoDriver::Auto => Self::automatic(&Surroundings::of_current_thread(), IoUring::new),
            IoDriver::Epoll | IoDriver::IoUring => Self::Asked(io),
        }
    }

    fn automatic(around: &Surroundings, open: impl FnOnce() -> Result<IoUring, Unavailable>) -> Self {
        if around.has_seccomp_filter {
            return Self::Filtered;
        }
        match open() {
            Ok(_) => Self::Evidence,
            Err(unavailable) => Self::Refused(unavailable),
        }
    }
}

impl fmt::Display for IoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(io) => write!(f, "{io} drives the sockets, as asked for"),
            Self::Evidence => f.write_str(
                "epoll drives the sockets: io_uring is to be had, but serves no better on the whole, as far as measured",
            ),
            Self::Refused(unavailable) => write!(f, "epoll drives the sockets: {unavailable}"),
            Self::Filtered => f.write_str(
                "epoll drives the sockets: a seccomp filter is in force, so that io_uring was not tried",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_followed_without_a_question() {
        for io in [IoDriver::Epoll, IoDriver::IoUring] {
            assert_eq!(IoChoice::of(io).to_string(), format!("{io} drives the sockets, as asked for"));
        }
    }

    #[test]
    fn the_choice_says_why() {
        let refused =
            |unavailable| IoChoice::automatic(&Surroundings::default(), || Err(unavailable)).to_string();
        for (unavailable, expected) in [
            (Unavailable::Absent, "too old or was built without io_uring"),
            (Unavailable::TooOld { missing: "receiving in many shots" }, "no receiving in many shots"),
            (Unavailable::Forbidden { by: "the sysctl kernel.io_uring_disabled" }, "forbidden by the sysctl"),
            (Unavailable::LockedMemory { limit_bytes: 8 }, "RLIMIT_MEMLOCK is 8 bytes"),
        ] {
            let text = refused(unavailable);
            assert!(text.starts_with("epoll drives the sockets: ") && text.contains(expected), "{text}");
        }
    }

    #[test]
    fn where_system_calls_are_filtered_nobody_asks() {
        let mut around = Surroundings::default();
        around.has_seccomp_filter = true;
        let choice = IoChoice::automatic(&around, || panic!("the filter might end the process"));
        assert!(choice.to_string().contains("a seccomp filter is in force"), "{choice}");
    }

    #[test]
    fn where_there_is_io_uring_evidence_decides() {
        let choice = IoChoice::automatic(&Surroundings::default(), IoUring::new);
        match IoUring::new() {
            Ok(_) => assert!(matches!(choice, IoChoice::Evidence), "{choice}"),
            Err(refusal) => assert!(choice.to_string().ends_with(&refusal.to_string()), "{choice}"),
        }
    }
}
