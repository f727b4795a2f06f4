//! Which driver multiplexes.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::io_choice::IoChoice;
use crate::{Driver, Epoll, IoUring};

/// How the sockets of a server are driven.
///
/// On Linux 6.18, with two cores that the load generator shares, a short answer costs the same CPU by either: with io_uring
/// the medians lie between 0.95 and 1.02 of epoll's, for single requests of 64 to 4,096 connections, pipelined ones, short
/// connections and small files. Large files take 1.1 times as much, uploads 1.7 times and more. Io_uring needs a tenth of
/// the system calls at 64 connections and a fortieth at 512 (0.2 and 0.07 a request in place of 2.1 and 2.7), so that it
/// wins where each of them is dear, as under a tracer or a sandbox; and some 1 MiB of memory more for each loop.
///
/// With io_uring, a handler that loses its loop may find a system call of its own interrupted (`EINTR`), those that a signal
/// would interrupt though it is caught: the kernel has its thread put away what it had begun for the loop. The standard
/// library and most others just call again; what reads from a socket with a time-out may have to.
///
/// ```
/// use tayet_net::IoDriver;
///
/// assert_eq!("io_uring".parse(), Ok(IoDriver::IoUring));
/// assert_eq!(IoDriver::default().to_string(), "auto");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoDriver {
    /// What serves best, as far as measured: epoll. The default. The log says whether io_uring were to be had. That is looked at
    /// only where the line is logged, and not where a seccomp filter might end who asks.
    #[default]
    Auto,
    /// Epoll, which every kernel has.
    Epoll,
    /// Io_uring, which needs Linux 6.1 and is forbidden in many containers.
    IoUring,
}

impl IoDriver {
    /// Gives `count` drivers with no connections, all of one kind. One line of the log (`info`) says which, and why.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors, or [`IoDriver::IoUring`] was asked for and the kernel has none to give; the
    /// message says why.
    pub fn open(self, count: usize) -> io::Result<Vec<Box<dyn Driver>>> {
        let epoll = || Ok(Box::new(Epoll::new()?) as Box<dyn Driver>);
        let io_uring = || Ok(Box::new(IoUring::new()?) as Box<dyn Driver>);
        let drivers = match self {
            Self::Auto | Self::Epoll => (0..count).map(|_| epoll()).collect::<io::Result<_>>()?,
            Self::IoUring => (0..count).map(|_| io_uring()).collect::<io::Result<_>>()?,
        };
        // Within the macro, so that io_uring is looked at only where somebody reads what is found: it takes a thread and a ring.
        tracing::info!("{}", IoChoice::of(self));
        Ok(drivers)
    }
}

impl fmt::Display for IoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

impl FromStr for IoDriver {
    type Err = InvalidIoDriver;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Auto, Self::Epoll, Self::IoUring]
            .into_iter()
            .find(|known| known.to_string() == text)
            .ok_or_else(|| InvalidIoDriver(text.to_owned()))
    }
}

/// A text that is no way to drive sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidIoDriver(String);

impl fmt::Display for InvalidIoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no way to drive sockets (auto, epoll or io_uring)", self.0)
    }
}

impl std::error::Error for InvalidIoDriver {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for io in [IoDriver::Auto, IoDriver::Epoll, IoDriver::IoUring] {
            assert_eq!(io.to_string().parse(), Ok(io));
        }
        let error = "kqueue".parse::<IoDriver>().unwrap_err().to_string();
        assert!(error.contains("'kqueue'"), "{error}");
    }
}
