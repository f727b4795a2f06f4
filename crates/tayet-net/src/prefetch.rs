//! Fetching ahead what will be needed.

use crate::sys;

const CACHE_LINE_BYTES: usize = 64;

/// Has the processor fetch a value into its caches while it goes on: worth it for what is needed soon, but not at once, and
/// likely lies in memory. What the value points to is not fetched.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let address = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(CACHE_LINE_BYTES) {
        sys::prefetch_line(address.wrapping_add(line * CACHE_LINE_BYTES));
    }
    // It may not begin where a line does, and so reach into one more.
    sys::prefetch_line(address.wrapping_add(size_of::<T>().saturating_sub(1)));
}
