//! System calls, and a few instructions, that no safe interface gives us as we need them.
#![allow(unsafe_code, reason = "calls into libc, and a few instructions; each says why it is sound")]

/// Nanoseconds of the monotonic clock. Through libc rather than rustix, whose own look-up of the vDSO does not survive
/// valgrind, under which the instruction counts are taken.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec of ours, and the call keeps none of it. It cannot fail: the clock exists
    // on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the processor's own counter says, where it has one that programs may read: it goes on steadily, at a pace of its own.
#[inline]
pub(crate) fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads a counter, and every x86-64 processor has it.
    return Some(unsafe { core::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// Has the processor fetch the cache line at an address while it goes on, if it can be told to.
#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, by which nothing is read and no address faults; every x86-64 processor has the instruction.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Has the processor expect so many functions to return to here, where none will; see `return_stack.rs`.
#[inline(always)]
pub(crate) fn push_expected_returns<const COUNT: usize>() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: each call goes to the instruction behind the breakpoint that follows it, and where they came from is taken off the stack at
    // the end, so that nobody returns there. A shadow stack would miss it, but a program has one only if all that was linked into it says
    // that it can, which Rust's code does not.
    unsafe {
        core::arch::asm!(
            ".rept {count}",
            "call 2f",
            "int3",
            "2:",
            ".endr",
            "lea rsp, [rsp + 8 * {count}]",
            count = const COUNT,
            options(preserves_flags)
        );
    }
}

/// CPU time that the calling thread has had, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above; this clock exists on every Linux as well.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How often the calling thread has given up its core of its own accord: to wait for something.
pub(crate) fn voluntary_switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of ours of the right size, of which the call keeps nothing. All zeros are a valid
    // `rusage`, so it is initialised whatever the call does; it fails only for a wrong constant or pointer.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_nvcsw as u64
}
