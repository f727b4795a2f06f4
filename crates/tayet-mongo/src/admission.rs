//! Which queries are let through, and how many at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::breaker::{Breaker, Pass, Verdict};
use crate::stats::Stats;
use crate::{BreakerConfig, MongoError, MongoErrorKind, Result};

/// Lets queries through: not while the server is left alone, and never more than so many at a time.
#[derive(Debug)]
pub(crate) struct Admission {
    breaker: Mutex<Breaker>,
    unanswered_after: Duration,
    under_way: AtomicUsize,
    start: Instant,
    stats: Arc<Stats>,
}

/// A query that was let through. It keeps its place until it is dropped, which is when the driver has finished with it, even
/// where nobody waits for it any longer.
#[derive(Debug)]
pub(crate) struct Ticket {
    place: Place,
    /// Until a verdict is found.
    pass: Mutex<Option<Pass>>,
    since: Instant,
}

impl Admission {
    pub(crate) fn new(config: BreakerConfig, stats: Arc<Stats>) -> Self {
        Self {
            breaker: Mutex::new(Breaker::new(config)),
            unanswered_after: Duration::from_millis(config.unanswered_after_ms),
            under_way: AtomicUsize::new(0),
            start: Instant::now(),
            stats,
        }
    }

    /// Lets a query through, if fewer than `most` are under way.
    pub(crate) fn enter(self: &Arc<Self>, most: usize) -> Result<Ticket> {
        let place = Place::take(self, most).ok_or(MongoError::of_kind(MongoErrorKind::Busy))?;
        let since = Instant::now();
        let pass = self.with_breaker(|breaker| breaker.admit(self.ms(since)));
        let pass = pass.map_err(|wait_ms| MongoError::left_alone(Duration::from_millis(wait_ms)))?;
        Ok(Ticket { place, pass: Mutex::new(Some(pass)), since })
    }

    /// Does something to the breaker, and tells when that has opened or closed it.
    fn with_breaker<T>(&self, act: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let was_open = breaker.is_open();
        let result = act(&mut breaker);
        let is_open = breaker.is_open();
        if was_open != is_open {
            self.stats.set_breaker_open(is_open);
            if is_open {
                tracing::warn!("the database does not answer; it is left alone for a while");
            } else {
                tracing::info!("the database answers again");
            }
        }
        result
    }

    fn ms(&self, now: Instant) -> u64 {
        now.duration_since(self.start).as_millis() as u64
    }
}

impl Ticket {
    /// The query has come to an end.
    pub(crate) fn ended(&self, blames_server: bool) {
        self.conclude(if blames_server { Verdict::Failed } else { Verdict::Answered });
    }

    /// Nobody waits for the query any longer. If it took long enough, the server is to blame.
    pub(crate) fn given_up(&self) {
        let has_waited = self.since.elapsed() >= self.place.0.unanswered_after;
        self.conclude(if has_waited { Verdict::Failed } else { Verdict::Unknown });
    }

    /// The first verdict holds.
    fn conclude(&self, verdict: Verdict) {
        let pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pass) = pass {
            let admission = &self.place.0;
            admission.with_breaker(|breaker| breaker.conclude(pass, verdict, admission.ms(Instant::now())));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.conclude(Verdict::Unknown);
    }
}

/// One of the queries that may be under way.
#[derive(Debug)]
struct Place(Arc<Admission>);

impl Place {
    fn take(admission: &Arc<Admission>, most: usize) -> Option<Self> {
        let place = Self(Arc::clone(admission));
        let before = admission.under_way.fetch_add(1, Ordering::Relaxed);
        admission.stats.queries_under_way.inc();
        (before < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
        self.0.stats.queries_under_way.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BreakerConfig = BreakerConfig {
        failures_to_open: 2,
        open_ms: 60_000,
        max_open_ms: 60_000,
        probes_to_close: 1,
        unanswered_after_ms: 0,
    };

    fn admission(config: BreakerConfig) -> Arc<Admission> {
        Arc::new(Admission::new(config, Arc::default()))
    }

    fn refusal(admission: &Arc<Admission>, most: usize) -> MongoErrorKind {
        admission.enter(most).unwrap_err().kind()
    }

    #[test]
    fn no_more_than_may_be_are_under_way() {
        let admission = admission(CONFIG);
        let tickets = [admission.enter(2).unwrap(), admission.enter(2).unwrap()];
        assert_eq!(refusal(&admission, 2), MongoErrorKind::Busy);
        assert_eq!(admission.stats.queries_under_way.get(), 2);
        drop(tickets);
        assert!(admission.enter(1).is_ok());
        assert_eq!(admission.stats.queries_under_way.get(), 0);
    }

    #[test]
    fn a_query_that_is_given_up_keeps_its_place_until_the_driver_has_finished() {
        let admission = admission(CONFIG);
        let ticket = Arc::new(admission.enter(1).unwrap());
        let with_the_driver = Arc::clone(&ticket);
        ticket.given_up();
        drop(ticket);
        assert_eq!(refusal(&admission, 1), MongoErrorKind::Busy);
        drop(with_the_driver);
        assert!(admission.enter(1).is_ok());
    }

    #[test]
    fn each_query_counts_once() {
        let admission = admission(CONFIG);
        let ticket = admission.enter(9).unwrap();
        ticket.given_up();
        ticket.ended(true);
        drop(ticket);
        admission.enter(9).unwrap().ended(true);
        assert_eq!(refusal(&admission, 9), MongoErrorKind::Unavailable);
    }

    #[test]
    fn what_is_given_up_early_tells_nothing() {
        let admission = admission(BreakerConfig { unanswered_after_ms: 60_000, ..CONFIG });
        (0..9).for_each(|_| admission.enter(9).unwrap().given_up());
        (0..9).for_each(|_| drop(admission.enter(9).unwrap()));
        (0..9).for_each(|_| admission.enter(9).unwrap().ended(false));
        assert!(admission.enter(9).is_ok());
    }
}
