//! Fetching ahead what will be needed.

use crate::sys;

const CACHE_LINE_BYTES: usize = 64;

/// Has the processor fetch a value into its caches while it goes on: worth it for what is needed soon, but not at once, and
/// likely lies in memory. What the value points to is not fetched.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<u8>();
    let first = address.wrapping_sub(address.addr() % CACHE_LINE_BYTES);
    let lines = (address.addr() % CACHE_LINE_BYTES + size_of::<T>()).div_ceil(CACHE_LINE_BYTES);
    for line in 0..lines {
        sys::prefetch_line(first.wrapping_add(line * CACHE_LINE_BYTES));
    }
}
