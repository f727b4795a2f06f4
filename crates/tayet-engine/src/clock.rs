//! The date that responses carry.

use std::time::{Instant, SystemTime};

use tayet_http1::Date;

/// The current date, made anew once a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DateCache {
    date: Date,
    made: Option<Instant>,
}

/// How old a date may get: a second is the header's own grain.
const MAX_AGE_MS: u128 = 250;

impl DateCache {
    pub(crate) fn new() -> Self {
        Self { date: Date::from(SystemTime::UNIX_EPOCH), made: None }
    }

    /// The date at `now`.
    pub(crate) fn at(&mut self, now: Instant) -> &Date {
        if self.made.is_none_or(|made| now.saturating_duration_since(made).as_millis() >= MAX_AGE_MS) {
            self.date = Date::from(SystemTime::now());
            self.made = Some(now);
        }
        &self.date
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_date_is_made_again_only_when_it_is_old() {
        let mut cache = DateCache::new();
        let now = Instant::now();
        cache.at(now);
        let made = cache.made;
        cache.at(now + Duration::from_millis(249));
        assert_eq!(cache.made, made);
        cache.at(now + Duration::from_millis(250));
        assert_ne!(cache.made, made);
    }
}
