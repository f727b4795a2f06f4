//! System calls that no safe interface gives us as we need them.
#![allow(unsafe_code, reason = "calls into libc; each says why it is sound")]

/// Nanoseconds of the monotonic clock. Through libc rather than rustix, whose own look-up of the vDSO does not survive
/// valgrind, under which the instruction counts are taken.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec of ours, and the call keeps none of it. It cannot fail: the clock exists
    // on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
