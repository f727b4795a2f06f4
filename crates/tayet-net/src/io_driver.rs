//! Which driver multiplexes.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::{Driver, Epoll, IoUring};

/// How the sockets of a server are driven.
///
/// ```
/// use tayet_net::IoDriver;
///
/// assert_eq!("io_uring".parse(), Ok(IoDriver::IoUring));
/// assert_eq!(IoDriver::default().to_string(), "auto");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoDriver {
    /// What serves best here: the default.
    #[default]
    Auto,
    /// Epoll, which every kernel has.
    Epoll,
    /// Io_uring, which needs Linux 6.0 and is forbidden in many containers.
    IoUring,
}

impl IoDriver {
    /// Gives `count` drivers with no connections, all of one kind.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors, or [`IoDriver::IoUring`] was asked for and the kernel has none to give; the
    /// message says why.
    pub fn open(self, count: usize) -> io::Result<Vec<Box<dyn Driver>>> {
        let epoll = || Ok(Box::new(Epoll::new()?) as Box<dyn Driver>);
        let io_uring = || Ok(Box::new(IoUring::new()?) as Box<dyn Driver>);
        match self {
            Self::Auto | Self::Epoll => (0..count).map(|_| epoll()).collect(),
            Self::IoUring => (0..count).map(|_| io_uring()).collect(),
        }
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
