//! A socket whose number lies beside its handle.
#![allow(
    unsafe_code,
    reason = "a descriptor is borrowed by its number, without a look at the handle that owns it"
)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use crate::TcpSocket;

/// A handle to a shared socket, and the number of its descriptor. To ask the kernel for something the number will do: with thousands
/// of connections what the handle points to is in no near cache.
#[derive(Debug)]
pub(crate) struct NearSocket {
    handle: Arc<TcpSocket>,
    number: RawFd,
}

impl NearSocket {
    pub(crate) fn new(handle: Arc<TcpSocket>) -> Self {
        let number = handle.as_fd().as_raw_fd();
        Self { handle, number }
    }

    /// For those who keep it open, too.
    pub(crate) fn handle(&self) -> &Arc<TcpSocket> {
        &self.handle
    }
}

impl AsFd for NearSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the number is that of the descriptor which the handle owns and never gives away, and the handle lives as long as what
        // is borrowed here.
        unsafe { BorrowedFd::borrow_raw(self.number) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn its_number_is_its_handles() {
        let (stream, _other) = UnixStream::pair().unwrap();
        let socket = NearSocket::new(Arc::new(TcpSocket(stream.into())));
        assert_eq!(socket.as_fd().as_raw_fd(), socket.handle().as_fd().as_raw_fd());
    }
}
