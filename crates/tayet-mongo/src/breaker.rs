//! Leaving a server alone that does not answer.

use serde::Deserialize;

/// When a server that fails is left alone, and for how long.
///
/// A query has failed when there was no server for it, its connection broke, or nobody answered it in
/// [`unanswered_after_ms`](Self::unanswered_after_ms). A server that answers with an error is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerConfig {
    /// So many failures among the last 32 queries open the breaker: queries are refused at once. At least 1. Default: 5.
    pub failures_to_open: u32,
    /// How long it is open before a query is let through to see whether the server is back. Default: 500 ms.
    pub open_ms: u64,
    /// Each such probe that fails doubles that time, up to this. Default: 5,000 ms, since a server that is back is not to stay unused
    /// for long, and a query now and then does it no harm.
    pub max_open_ms: u64,
    /// So many probes, one after the other, must succeed before all queries are let through again. Default: 2.
    pub probes_to_close: u32,
    /// A query that is given up has failed if it waited for so long; else nothing is known of the server. Default: 1,000 ms.
    pub unanswered_after_ms: u64,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures_to_open: 5,
            open_ms: 500,
            max_open_ms: 5_000,
            probes_to_close: 2,
            unanswered_after_ms: 1_000,
        }
    }
}

/// A circuit breaker. It knows no clock: time is an argument, in milliseconds.
#[derive(Debug)]
pub(crate) struct Breaker {
    config: BreakerConfig,
    state: State,
    /// Counts the states: what is heard of a query that was let through in an earlier one no longer matters.
    era: u64,
}

#[derive(Debug)]
enum State {
    Closed { recent: Recent },
    Open { until_ms: u64, open_ms: u64 },
    HalfOpen { open_ms: u64, succeeded: u32, is_probing: bool },
}

/// A query that was let through. Its end is to be told.
#[derive(Debug)]
pub(crate) struct Pass {
    era: u64,
}

/// What became of a query, as far as it tells of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answered,
    Failed,
    /// It was given up before anything was known.
    Unknown,
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Self { config, state: State::Closed { recent: Recent::default() }, era: 0 }
    }

    /// Lets a query through, or says in how many milliseconds it is worth another try.
    pub(crate) fn admit(&mut self, now_ms: u64) -> Result<Pass, u64> {
        match &mut self.state {
            State::Closed { .. } => {}
            State::Open { until_ms, .. } if now_ms < *until_ms => return Err(*until_ms - now_ms),
            State::Open { open_ms, .. } => {
                let open_ms = *open_ms;
                self.enter(State::HalfOpen { open_ms, succeeded: 0, is_probing: true });
            }
            State::HalfOpen { is_probing: true, open_ms, .. } => return Err(*open_ms),
            State::HalfOpen { is_probing, .. } => *is_probing = true,
        }
        Ok(Pass { era: self.era })
    }

    /// Takes in what became of a query.
    pub(crate) fn conclude(&mut self, pass: Pass, verdict: Verdict, now_ms: u64) {
        if pass.era != self.era {
            return;
        }
        match &mut self.state {
            State::Closed { recent } => {
                recent.add(verdict);
                if recent.failures() >= self.config.failures_to_open.max(1) {
                    self.open(self.config.open_ms, now_ms);
                }
            }
            State::HalfOpen { open_ms, succeeded, is_probing } => {
                *is_probing = false;
                match verdict {
                    Verdict::Unknown => {}
                    Verdict::Failed => {
                        let open_ms = open_ms.saturating_mul(2).min(self.config.max_open_ms);
                        self.open(open_ms, now_ms);
                    }
                    Verdict::Answered => {
                        *succeeded += 1;
                        if *succeeded >= self.config.probes_to_close {
                            self.enter(State::Closed { recent: Recent::default() });
                        }
                    }
                }
            }
            // Nothing is let through while it is open.
            State::Open { .. } => {}
        }
    }

    /// Whether queries are refused, but for probes.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed { .. })
    }

    fn open(&mut self, open_ms: u64, now_ms: u64) {
        self.enter(State::Open { until_ms: now_ms.saturating_add(open_ms), open_ms });
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

/// Which of the last 32 queries have failed, the latest in the lowest bit.
#[derive(Debug, Default)]
struct Recent(u32);

impl Recent {
    fn add(&mut self, verdict: Verdict) {
        if verdict != Verdict::Unknown {
            self.0 = self.0 << 1 | u32::from(verdict == Verdict::Failed);
        }
    }

    fn failures(&self) -> u32 {
        self.0.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Verdict::{Answered, Failed, Unknown};
    use super::*;

    const CONFIG: BreakerConfig = BreakerConfig {
        failures_to_open: 3,
        open_ms: 100,
        max_open_ms: 350,
        probes_to_close: 2,
        unanswered_after_ms: 50,
    };

    fn breaker() -> Breaker {
        Breaker::new(CONFIG)
    }

    /// One query from its beginning to its end.
    fn query(breaker: &mut Breaker, verdict: Verdict, now_ms: u64) -> Result<(), u64> {
        let pass = breaker.admit(now_ms)?;
        breaker.conclude(pass, verdict, now_ms);
        Ok(())
    }

    fn opened(now_ms: u64) -> Breaker {
        let mut breaker = breaker();
        (0..3).for_each(|_| query(&mut breaker, Failed, now_ms).unwrap());
        assert!(breaker.is_open());
        breaker
    }

    #[test]
    fn some_failures_open_it_even_among_successes() {
        let mut breaker = breaker();
        for verdict in [Failed, Answered, Failed, Answered, Unknown, Answered] {
            query(&mut breaker, verdict, 0).unwrap();
            assert!(!breaker.is_open());
        }
        query(&mut breaker, Failed, 7).unwrap();
        assert!(breaker.is_open());
        assert_eq!(query(&mut breaker, Answered, 7), Err(100));
        assert_eq!(query(&mut breaker, Answered, 106), Err(1));
    }

    #[test]
    fn failures_long_past_do_not_count() {
        let mut breaker = breaker();
        for _ in 0..10 {
            query(&mut breaker, Failed, 0).unwrap();
            query(&mut breaker, Failed, 0).unwrap();
            (0..32).for_each(|_| query(&mut breaker, Answered, 0).unwrap());
        }
        assert!(!breaker.is_open());
    }

    #[test]
    fn one_probe_at_a_time_finds_out_whether_the_server_is_back() {
        let mut breaker = opened(0);
        let probe = breaker.admit(100).unwrap();
        assert_eq!(breaker.admit(100).unwrap_err(), 100);
        breaker.conclude(probe, Answered, 110);
        assert!(breaker.is_open(), "one success is not enough");
        let probe = breaker.admit(111).unwrap();
        assert!(breaker.admit(111).is_err());
        breaker.conclude(probe, Answered, 120);
        assert!(!breaker.is_open());
        let both = [breaker.admit(121), breaker.admit(121)];
        assert!(both.iter().all(Result::is_ok));
    }

    #[test]
    fn each_failed_probe_doubles_the_wait_up_to_its_most() {
        let mut breaker = opened(0);
        let mut now_ms = 100;
        for wait_ms in [200, 350, 350] {
            query(&mut breaker, Failed, now_ms).unwrap();
            assert_eq!(breaker.admit(now_ms).unwrap_err(), wait_ms);
            now_ms += wait_ms;
        }
        query(&mut breaker, Answered, now_ms).unwrap();
        query(&mut breaker, Answered, now_ms).unwrap();
        (0..3).for_each(|_| query(&mut breaker, Failed, now_ms).unwrap());
        assert_eq!(breaker.admit(now_ms).unwrap_err(), 100, "once closed, it begins anew");
    }

    #[test]
    fn a_probe_that_is_given_up_makes_room_for_the_next() {
        let mut breaker = opened(0);
        query(&mut breaker, Unknown, 100).unwrap();
        assert!(breaker.is_open());
        assert!(breaker.admit(100).is_ok());
    }

    #[test]
    fn what_was_let_through_before_no_longer_matters() {
        let mut breaker = breaker();
        let early = [breaker.admit(0).unwrap(), breaker.admit(0).unwrap()];
        (0..3).for_each(|_| query(&mut breaker, Failed, 0).unwrap());
        let probe = breaker.admit(100).unwrap();
        for (pass, verdict) in early.into_iter().zip([Answered, Failed]) {
            breaker.conclude(pass, verdict, 100);
        }
        assert!(breaker.admit(100).is_err(), "the probe is still under way");
        breaker.conclude(probe, Answered, 100);
        assert!(breaker.admit(100).is_ok());
    }

    proptest! {
        /// Whatever happens in whatever order, a server that is back is found: nobody waits longer than the most.
        #[test]
        fn it_never_stays_open(steps in prop::collection::vec((0u64..400, 0usize..4, 0u8..3), 1..200)) {
            let mut breaker = breaker();
            let (mut now_ms, mut passes) = (0, Vec::new());
            for (later_ms, index, verdict) in steps {
                now_ms += later_ms;
                match breaker.admit(now_ms) {
                    Ok(pass) => passes.push(pass),
                    Err(wait_ms) => prop_assert!(wait_ms > 0 && wait_ms <= CONFIG.max_open_ms),
                }
                if index < passes.len() {
                    let verdict = [Answered, Failed, Unknown][usize::from(verdict)];
                    breaker.conclude(passes.swap_remove(index), verdict, now_ms);
                }
            }
            passes.into_iter().for_each(|pass| breaker.conclude(pass, Unknown, now_ms));
            now_ms += CONFIG.max_open_ms;
            for _ in 0..CONFIG.probes_to_close {
                prop_assert_eq!(query(&mut breaker, Answered, now_ms), Ok(()));
            }
            prop_assert!(!breaker.is_open());
        }
    }
}
