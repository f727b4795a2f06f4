//! Descriptors that Python hands over.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A duplicate of a descriptor that Python names by its number.
///
/// # Errors
///
/// When there is none of that number.
pub(crate) fn duplicate(number: i32) -> io::Result<OwnedFd> {
    if number < 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{number} is no descriptor")));
    }
    // SAFETY: it is borrowed for this call alone, in which nothing but `fcntl(F_DUPFD_CLOEXEC)` is done with it, and that
    // answers EBADF for a number without a descriptor. The caller holds the GIL and so keeps Python from closing it.
    unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()
}
