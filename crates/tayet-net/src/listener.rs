//! Listening sockets.

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::{Address, PeerAddress, return_stack};

/// Connections that may wait to be accepted; the system's `net.core.somaxconn` may lower it.
pub const LISTEN_BACKLOG: i32 = 4_096;

/// A socket that listens. A Unix socket's file goes with it.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    address: Address,
    /// The file of a Unix socket, by path, device and inode: another's file is not ours to remove.
    file: Option<(PathBuf, u64, u64)>,
}

impl Listener {
    /// Listens at `address`, as one of several when `shared` (SO_REUSEPORT; IP only): the kernel then spreads
    /// connections over the listeners. A Unix socket's file that nobody listens at any more is replaced.
    ///
    /// # Errors
    ///
    /// As the system gives them: address in use, not available here, permission denied, and so on.
    pub fn bind(address: &Address, shared: bool) -> io::Result<Self> {
        match address {
            Address::Ip(ip) => {
                let fd = bound(ip, shared)?;
                // Accepted sockets inherit it from the listener.
                sockopt::set_tcp_nodelay(&fd, true)?;
                net::listen(&fd, LISTEN_BACKLOG)?;
                let bound = net::getsockname(&fd)?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
                Ok(Self { fd, address: Address::Ip(bound), file: None })
            }
            Address::Unix(path) => {
                let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
                remove_stale(path)?;
                net::bind(&fd, &SocketAddrUnix::new(path.as_path())?)?;
                net::listen(&fd, LISTEN_BACKLOG)?;
                let made = std::fs::symlink_metadata(path)?;
                Ok(Self { fd, address: address.clone(), file: Some((path.clone(), made.dev(), made.ino())) })
            }
        }
    }

    /// Whether somebody else listens at `address`, who shares it or not. Nobody can connect to what it is tried with.
    ///
    /// # Errors
    ///
    /// As those of [`Listener::bind`].
    pub fn check_free(address: &SocketAddr) -> io::Result<()> {
        bound(address, false).map(drop)
    }

    /// The next connection that waits, and who it is.
    ///
    /// # Errors
    ///
    /// [`Errno::AGAIN`] when none waits; others as the system gives them.
    pub(crate) fn accept(&self) -> Result<(OwnedFd, PeerAddress), Errno> {
        let accepted = net::acceptfrom_with(&self.fd, FLAGS);
        return_stack::refill();
        let (socket, address) = accepted?;
        let ip = address.and_then(|address| address.try_into().ok());
        Ok((socket, ip.map_or(PeerAddress::Unix, PeerAddress::Ip)))
    }

    /// Takes over a socket that listens already, such as one that a supervisor has handed down. A Unix socket's file is its
    /// maker's to remove.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a descriptor that is no listening stream socket; others as the system gives them.
    pub fn adopt(fd: OwnedFd) -> io::Result<Self> {
        let listens = sockopt::socket_acceptconn(&fd).unwrap_or(false);
        if !listens || sockopt::socket_type(&fd)? != SocketType::STREAM {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the descriptor is no listening socket"));
        }
        rustix::io::ioctl_fionbio(&fd, true)?;
        let bound = net::getsockname(&fd)?;
        let address = match SocketAddrUnix::try_from(bound.clone()) {
            Ok(unix) => Address::Unix(unix.path_bytes().map(path_of).unwrap_or_default()),
            Err(_) => {
                sockopt::set_tcp_nodelay(&fd, true)?;
                Address::Ip(bound.try_into().map_err(|_| io::ErrorKind::InvalidInput)?)
            }
        };
        Ok(Self { fd, address, file: None })
    }

    /// Where it listens; a port that the system chose is filled in.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, device, inode)) = &self.file
            && let Ok(found) = std::fs::symlink_metadata(path)
            && (found.dev(), found.ino()) == (*device, *inode)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A socket that has an address, and does not listen yet.
fn bound(ip: &SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, shared)?;
    net::bind(&fd, ip)?;
    Ok(fd)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// Removes a socket's file that nobody listens at. Anything else at that path stays, and binding will say so.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any_port() -> Address {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn port_0_becomes_a_real_one_that_can_be_shared() {
        let first = Listener::bind(&any_port(), true).unwrap();
        assert_ne!(first.address(), &any_port());
        Listener::bind(first.address(), true).unwrap();
        assert_eq!(Listener::bind(first.address(), false).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn an_address_is_looked_at_without_a_listener_whose_connections_would_be_reset() {
        let taken = Listener::bind(&any_port(), true).unwrap();
        let Address::Ip(address) = taken.address().clone() else { panic!("an IP address was asked for") };
        assert_eq!(Listener::check_free(&address).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(taken);
        Listener::check_free(&address).unwrap();
        let _tried_with = bound(&address, false).unwrap();
        let error = std::net::TcpStream::connect(address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_listener_is_adopted_with_its_address_and_another_descriptor_is_not() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap().into();
        assert_eq!(Listener::adopt(tcp.into()).unwrap().address(), &address);
        let path = std::env::temp_dir().join(format!("tayet-adopted-{}.sock", std::process::id()));
        let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(Listener::adopt(unix.into()).unwrap().address(), &Address::Unix(path.clone()));
        std::fs::remove_file(path).expect("a file that is not the listener's stays");
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(Listener::adopt(datagrams.into()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(Listener::adopt(file.into()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_stale_socket_file_is_replaced_and_a_live_one_is_not() {
        let path = std::env::temp_dir().join(format!("tayet-listener-{}.sock", std::process::id()));
        let address = Address::Unix(path.clone());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let live = Listener::bind(&address, false).unwrap();
        assert_eq!(Listener::bind(&address, false).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(live);
        assert!(!path.exists());
    }
}
