//! A connection's socket, as other threads than its loop may use it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};

use crate::return_stack;

/// What may be done to a connection from any thread. Never waits for the peer but in [`Socket::wait_writable`] and
/// [`Socket::wait_readable`].
///
/// The loop owns the reading, unless it has lent it ([`Driver::lend_receiving`](crate::Driver::lend_receiving)); whoever answers a
/// request owns the writing until it has told the loop that it is done.
pub trait Socket: Send + Sync {
    /// Sends what the kernel takes now of `head` and of `tail` behind it.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] when it takes nothing; others when the connection is gone.
    fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize>;

    /// Sends what the kernel takes now of at most `count` bytes of `file` from `offset` on; 0 where the file ends. May wait for
    /// the disk, but not for the peer. Fewer bytes than `count` mean that it takes no more now, or that the file ends.
    ///
    /// As it is here, it copies the file through memory, piece by piece; a socket that can does without.
    ///
    /// # Errors
    ///
    /// As [`Socket::send`], and those of reading the file.
    fn send_file(&self, file: &File, offset: u64, count: usize) -> io::Result<usize> {
        send_copied(self, file, offset, count)
    }

    /// Waits until something can be sent.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] when that takes longer than `timeout`.
    fn wait_writable(&self, timeout: Duration) -> io::Result<()>;

    /// Receives what has come, at most as much as `into` holds; 0 when the peer has ended its sending direction. As it is here,
    /// it receives nothing: for those whose driver does not lend.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] when nothing has come; others when the connection is gone.
    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        let _ = into;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Waits until something can be received, be it the end.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] when that takes longer than `timeout`.
    fn wait_readable(&self, timeout: Duration) -> io::Result<()> {
        let _ = timeout;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends both directions: the peer sees it, and so does every read and write under way.
    fn shutdown(&self);
}

/// How much of a file is in memory at a time where it cannot be sent without being copied.
const COPIED_PIECE_BYTES: usize = 64 * 1024;

fn send_copied<S: Socket + ?Sized>(socket: &S, file: &File, offset: u64, count: usize) -> io::Result<usize> {
    let mut piece = vec![0; count.min(COPIED_PIECE_BYTES)];
    let mut sent = 0;
    while sent < count {
        let wanted = piece.len().min(count - sent);
        let read = file.read_at(&mut piece[..wanted], offset + sent as u64)?;
        if read == 0 {
            break;
        }
        match socket.send(&piece[..read], &[]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && sent > 0 => break,
            result => sent += result?,
        }
    }
    Ok(sent)
}

/// A connected stream socket, TCP or Unix; closed when its last handle goes.
#[derive(Debug)]
pub struct TcpSocket(pub(crate) OwnedFd);

pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl Socket for TcpSocket {
    #[inline]
    fn send(&self, head: &[u8], tail: &[u8]) -> io::Result<usize> {
        loop {
            let result = match (head, tail) {
                (bytes, []) | ([], bytes) => net::send(&self.0, bytes, SEND_FLAGS),
                _ => self.send_both(head, tail),
            };
            return_stack::refill();
            match result {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// By sendfile(2), straight from the page cache. The socket does not block, so neither does this for the peer's sake.
    fn send_file(&self, file: &File, offset: u64, count: usize) -> io::Result<usize> {
        loop {
            let result = rustix::fs::sendfile(&self.0, file, Some(&mut { offset }), count);
            return_stack::refill();
            match result {
                Err(Errno::INTR) => {}
                // Some file systems have no pages to send from.
                Err(Errno::INVAL) => return send_copied(self, file, offset, count),
                result => return Ok(result?),
            }
        }
    }

    fn wait_writable(&self, timeout: Duration) -> io::Result<()> {
        self.wait_for(PollFlags::OUT, timeout)
    }

    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = net::recv(&self.0, &mut *into, RecvFlags::DONTWAIT);
            return_stack::refill();
            match result {
                Err(Errno::INTR) => {}
                result => return Ok(result?.0),
            }
        }
    }

    fn wait_readable(&self, timeout: Duration) -> io::Result<()> {
        self.wait_for(PollFlags::IN, timeout)
    }

    fn shutdown(&self) {
        let _ = net::shutdown(&self.0, Shutdown::Both);
    }
}

impl TcpSocket {
    #[inline(never)]
    fn send_both(&self, head: &[u8], tail: &[u8]) -> rustix::io::Result<usize> {
        let slices = [io::IoSlice::new(head), io::IoSlice::new(tail)];
        net::sendmsg(&self.0, &slices, &mut SendAncillaryBuffer::default(), SEND_FLAGS)
    }

    fn wait_for(&self, what: PollFlags, timeout: Duration) -> io::Result<()> {
        let timeout = rustix::event::Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&self.0, what)], Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
