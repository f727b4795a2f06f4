//! Ends a wait in time, without a time-out that each wait would have to begin and end.

use std::io;
use std::time::Duration;

use rustix::fd::AsFd;

use crate::{AlarmClock, Moment};

/// How much later than it was asked to the rouser may rouse, rather than be set anew. 1 ms.
const MAX_LATE: Duration = Duration::from_millis(1);

/// An alarm clock among what an epoll watches. A loop's next deadline is mostly the one that it had before its last wait, so the clock is
/// seldom set, where the kernel would read its own clock twice for each time-out and arm a timer for each sleep: 0.13 µs a wait that
/// finds something at once.
#[derive(Debug)]
pub(crate) struct Rouser {
    alarm: AlarmClock,
    /// When it goes off; `None` once it has, or before it is set.
    due: Option<Moment>,
}

impl Rouser {
    /// One that is not set.
    ///
    /// # Errors
    ///
    /// When the process is out of descriptors.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { alarm: AlarmClock::new()?, due: None })
    }

    /// Sees to it that it goes off within that time. `moment` is now, or some time ago.
    #[inline]
    pub(crate) fn ensure(&mut self, moment: Moment, within: Duration) {
        if self.due.is_none_or(|due| due > moment + within + MAX_LATE) {
            self.set(within);
        }
    }

    #[inline(never)]
    fn set(&mut self, within: Duration) {
        self.alarm.set(within);
        self.due = Some(Moment::now() + within);
    }

    /// It has gone off.
    pub(crate) fn gone_off(&mut self) {
        self.due = None;
    }

    /// What becomes readable when it goes off: an edge each time, so nobody need read it.
    pub(crate) fn fd(&self) -> impl AsFd + '_ {
        &self.alarm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(100);
    const LATER: Duration = Duration::from_secs(200);

    #[test]
    fn it_is_set_anew_only_where_it_would_go_off_too_late() {
        let mut rouser = Rouser::new().unwrap();
        let now = Moment::now();
        rouser.ensure(now, LATER);
        let first = rouser.due.unwrap();
        assert!(first >= now + LATER && first <= Moment::now() + LATER);
        rouser.ensure(now, LATER + SOON);
        rouser.ensure(first - LATER, LATER - MAX_LATE);
        assert_eq!(rouser.due, Some(first), "it is early enough");
        rouser.ensure(now, SOON);
        assert!(rouser.due.unwrap() < first);
        rouser.gone_off();
        rouser.ensure(now, LATER);
        assert!(rouser.due.unwrap() >= first);
    }

    #[test]
    fn of_a_moment_long_ago_it_is_set_rather_too_early() {
        let mut rouser = Rouser::new().unwrap();
        rouser.ensure(Moment::from_ns(0), LATER);
        let first = rouser.due.unwrap();
        rouser.ensure(Moment::from_ns(0), LATER);
        assert!(rouser.due.unwrap() >= first, "it was set again, since nobody knows that it need not be");
    }
}
