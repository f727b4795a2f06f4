//! What the processor expects functions to return to, behind a system call.
//!
//! A processor foretells where a function returns to by a stack of its own, of the calls that it has seen. Behind a system call the
//! kernel's calls lie on it, so that whatever returns next is expected in the kernel. On an AMD EPYC (Zen 3, Linux 6.18) one return
//! that is mistaken so has the next system call take longer from its beginning to its end: receiving by 0.3 µs, sending by 0.6 to 0.8,
//! in all a twentieth of a request (docs/performance.md). Calls that come from our own code in the kernel's place prevent it.

use crate::sys;

/// How many functions may return between one system call and the next of those that were called before the first. Sixteen
/// gave no more.
const RETURNS: usize = 8;

/// To be called behind a system call that is made again and again, before the function that made it returns.
#[inline(always)]
pub(crate) fn refill() {
    sys::push_expected_returns::<RETURNS>();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of the numbers up to `count`, by as many calls, each of which is returned to behind a refill.
    #[inline(never)]
    fn sum_to(count: u64) -> u64 {
        if count == 0 {
            refill();
            return 0;
        }
        let below = std::hint::black_box(count - 1);
        let sum = sum_to(below);
        refill();
        sum + count
    }

    #[test]
    fn functions_return_to_where_they_were_called_from_with_what_they_had_on_the_stack() {
        for depth in [0, 1, RETURNS as u64 - 1, RETURNS as u64, 3 * RETURNS as u64] {
            assert_eq!(sum_to(depth), depth * (depth + 1) / 2);
        }
    }
}
