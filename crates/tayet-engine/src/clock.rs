//! The time of threads that have no driver, and the date that responses carry.

use std::fmt;
#[cfg(test)]
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tayet_http1::Date;
use tayet_net::Moment;

/// The clock of threads that have no driver to ask.
#[derive(Clone, Default)]
pub(crate) struct Clock {
    /// A simulation's own.
    #[cfg(test)]
    pub(crate) simulated: Option<Arc<dyn Fn() -> Moment + Send + Sync>>,
}

impl Clock {
    pub(crate) fn now(&self) -> Moment {
        #[cfg(test)]
        if let Some(now) = &self.simulated {
            return now();
        }
        Moment::now()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The current date, made anew once a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DateCache {
    date: Date,
    /// Until when it will do.
    until: Option<Moment>,
}

/// How old a date may get: a second is the header's own grain.
const MAX_AGE: Duration = Duration::from_millis(250);

impl DateCache {
    pub(crate) fn new() -> Self {
        Self { date: Date::from(SystemTime::UNIX_EPOCH), until: None }
    }

    /// The date at `now`.
    pub(crate) fn at(&mut self, now: Moment) -> &Date {
        if self.until.is_none_or(|until| now >= until) {
            self.date = Date::from(SystemTime::now());
            self.until = Some(now + MAX_AGE);
        }
        &self.date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_made_again_only_when_it_is_old() {
        let mut cache = DateCache::new();
        let now = Moment::now();
        cache.at(now);
        let until = cache.until;
        cache.at(now + Duration::from_millis(249));
        assert_eq!(cache.until, until);
        cache.at(now + Duration::from_millis(250));
        assert_ne!(cache.until, until);
    }
}
