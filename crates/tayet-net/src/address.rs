//! Where a server listens and where its peers are.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

/// An address to listen on: `127.0.0.1:8080`, `[::1]:0`, `localhost:80`, `:8080` (all interfaces) or `unix:/run/app.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IPv4 or IPv6 address and port; port 0 lets the system choose.
    Ip(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(InvalidAddress {
                    text: text.to_owned(),
                    reason: "the socket's path is empty".to_owned(),
                }),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let full = if text.starts_with(':') { format!("[::]{text}") } else { text.to_owned() };
        match full.to_socket_addrs() {
            Ok(mut found) => found.next().map(Self::Ip).ok_or_else(|| InvalidAddress {
                text: text.to_owned(),
                reason: "the name has no address".to_owned(),
            }),
            Err(error) => Err(InvalidAddress { text: text.to_owned(), reason: error.to_string() }),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A text that is no address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAddress {
    text: String,
    reason: String,
}

impl fmt::Display for InvalidAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no address to listen on (HOST:PORT or unix:PATH): {}", self.text, self.reason)
    }
}

impl std::error::Error for InvalidAddress {}

/// Where the other end of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeerAddress {
    /// An IPv4 or IPv6 address and port.
    Ip(SocketAddr),
    /// A process on this machine, over a Unix socket.
    Unix,
}

impl PeerAddress {
    /// The IP address and port, if there is one.
    pub fn ip(self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(address),
            Self::Unix => None,
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix => f.write_str("unix:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_what_they_write() {
        for text in ["127.0.0.1:8080", "[::1]:0", "unix:/run/app.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!(":80".parse::<Address>().unwrap().to_string(), "[::]:80");
    }

    #[test]
    fn what_is_no_address_says_so() {
        for text in ["", "8080", "127.0.0.1", "127.0.0.1:99999", "unix:"] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{text}'")), "{error}");
        }
    }
}
