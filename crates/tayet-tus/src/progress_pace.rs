//! How often it is told how far each upload is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::UploadId;

/// How many uploads are remembered before those are forgotten that may be told of again anyhow.
const MAX_REMEMBERED: usize = 1_024;

/// Lets the progress of each upload through once in a while.
#[derive(Debug)]
pub(crate) struct ProgressPace {
    interval: Duration,
    told: Mutex<HashMap<UploadId, Instant>>,
}

impl ProgressPace {
    pub(crate) fn new(interval_ms: u64) -> Self {
        Self { interval: Duration::from_millis(interval_ms), told: Mutex::default() }
    }

    /// Whether to tell of this upload now. Where too many came of late, it is not.
    pub(crate) fn is_due(&self, id: UploadId) -> bool {
        let now = Instant::now();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |at: &Instant| now.duration_since(*at) >= self.interval;
        if told.get(&id).is_some_and(|at| !is_old(at)) {
            return false;
        }
        if told.len() >= MAX_REMEMBERED {
            told.retain(|_, at| !is_old(at));
        }
        let has_room = told.len() < MAX_REMEMBERED;
        if has_room {
            told.insert(id, now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_upload_has_its_own_pace() {
        let pace = ProgressPace::new(3_600_000);
        let (one, other) = (UploadId::random().unwrap(), UploadId::random().unwrap());
        assert!(pace.is_due(one) && pace.is_due(other));
        assert!(!pace.is_due(one) && !pace.is_due(other));
        let always = ProgressPace::new(0);
        assert!(always.is_due(one) && always.is_due(one));
    }

    #[test]
    fn so_many_are_remembered_and_no_more() {
        let pace = ProgressPace::new(3_600_000);
        let due = (0..MAX_REMEMBERED + 10).filter(|_| pace.is_due(UploadId::random().unwrap())).count();
        assert_eq!(due, MAX_REMEMBERED);
        let brief = ProgressPace::new(0);
        let due = (0..MAX_REMEMBERED + 10).filter(|_| brief.is_due(UploadId::random().unwrap())).count();
        assert_eq!(due, MAX_REMEMBERED + 10);
    }
}
