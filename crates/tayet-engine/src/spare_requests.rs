//! Requests that have had their answers, blank again.

use crate::Request;

/// How many are kept.
const MAX_SPARE_REQUESTS: usize = 256;

/// Requests kept for later ones, so that these need no memory of their own.
#[expect(clippy::vec_box, reason = "they are handed on boxed; unboxing would copy them each time")]
#[derive(Default)]
pub(crate) struct SpareRequests(Vec<Box<Request>>);

impl SpareRequests {
    #[inline]
    pub(crate) fn take(&mut self) -> Box<Request> {
        self.0.pop().unwrap_or_else(|| Box::new(Request::blank()))
    }

    /// Keeps one that is blank again, unless there are enough.
    #[inline]
    pub(crate) fn keep(&mut self, request: Box<Request>) {
        if self.0.len() < MAX_SPARE_REQUESTS {
            self.0.push(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_kept_than_may_be() {
        let mut spare = SpareRequests::default();
        for _ in 0..MAX_SPARE_REQUESTS + 2 {
            spare.keep(Box::new(Request::blank()));
        }
        assert_eq!(spare.0.len(), MAX_SPARE_REQUESTS);
        for left in (0..MAX_SPARE_REQUESTS).rev().chain([0, 0]) {
            spare.take();
            assert_eq!(spare.0.len(), left);
        }
    }
}
