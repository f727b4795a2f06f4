//! Events on their way to a webhook: in order, one at a time, again when it was not there.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tayet::StatusCode;

use super::WebhookLimits;
use super::event::{Event, News};
use crate::stats::Stats;

/// Events on their way, until this is drained or dropped.
pub(crate) struct Deliveries {
    shared: Arc<Shared>,
}

/// What became of an attempt to send an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Done,
    /// The receiver does not want it, nor will it later.
    Refused(StatusCode),
    /// It may go better later.
    Failed(String),
}

struct Shared {
    limits: WebhookLimits,
    stats: Arc<Stats>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Event>,
    /// Until when what waits is still tried, once no more comes.
    drain_until: Option<Instant>,
    has_ended: bool,
}

impl Deliveries {
    /// Starts the thread that sends them by `deliver`.
    pub(crate) fn start(
        limits: WebhookLimits,
        stats: Arc<Stats>,
        deliver: impl Fn(&Event) -> Delivery + Send + 'static,
    ) -> std::io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { limits, stats, state, changed });
        let worker = Arc::clone(&shared);
        thread::Builder::new().name("tayet-webhook".to_owned()).spawn(move || worker.run(&deliver))?;
        Ok(Self { shared })
    }

    /// Takes news that are worth little: only while there is much room.
    pub(crate) fn offer(&self, news: &News<'_>) {
        let shared = &self.shared;
        let mut state = shared.lock();
        if state.queue.len() < shared.limits.queue_capacity / 2
            && let Some(event) = shared.event(news)
        {
            state.queue.push_back(event);
            shared.changed.notify_all();
        }
    }

    /// Takes news that are to arrive: waits a while for room.
    pub(crate) fn hand_over(&self, news: &News<'_>) {
        let shared = &self.shared;
        let Some(event) = shared.event(news) else { return };
        let wait = Duration::from_millis(shared.limits.queue_wait_ms);
        let capacity = shared.limits.queue_capacity;
        let is_full = |state: &mut State| state.queue.len() >= capacity;
        let waited = shared.changed.wait_timeout_while(shared.lock(), wait, is_full);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            shared.lose(&event, "too many wait");
            return;
        }
        state.queue.push_back(event);
        shared.changed.notify_all();
    }

    /// Ends it: what waits is still tried for [`WebhookLimits::drain_ms`].
    pub(crate) fn drain(&self) {
        let shared = &self.shared;
        let drain = Duration::from_millis(shared.limits.drain_ms);
        let mut state = shared.lock();
        state.drain_until.get_or_insert_with(|| Instant::now() + drain);
        shared.changed.notify_all();
        // Its last attempt may take longer than that; nobody waits for it.
        let _state = shared.changed.wait_timeout_while(state, drain, |state| !state.has_ended);
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.drain();
    }
}

impl Shared {
    fn run(&self, deliver: &dyn Fn(&Event) -> Delivery) {
        while let Some(event) = self.next() {
            self.deliver(&event, deliver);
        }
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// The next event; `None` when no more comes.
    fn next(&self) -> Option<Event> {
        let waits = |state: &mut State| state.queue.is_empty() && state.drain_until.is_none();
        let waited = self.changed.wait_while(self.lock(), waits);
        let event = waited.unwrap_or_else(PoisonError::into_inner).queue.pop_front();
        self.changed.notify_all();
        event
    }

    /// Sends an event until it has arrived, or there is no point in it any more.
    fn deliver(&self, event: &Event, deliver: &dyn Fn(&Event) -> Delivery) {
        let give_up = event.since + Duration::from_secs(self.limits.give_up_after_seconds);
        let mut pause = Duration::from_millis(self.limits.first_retry_ms);
        loop {
            let reason = match deliver(event) {
                Delivery::Done => {
                    self.stats.webhooks_delivered.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Delivery::Refused(status) => return self.lose(event, &status.to_string()),
                Delivery::Failed(reason) => reason,
            };
            if Instant::now() + pause > give_up || !self.pause(pause) {
                return self.lose(event, &reason);
            }
            tracing::debug!("a webhook's event {} is sent again: {reason}", event.id);
            pause = (pause * 2).min(Duration::from_millis(self.limits.max_retry_ms));
        }
    }

    /// Waits before another attempt; `false` when there is no time for one.
    fn pause(&self, pause: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), pause, |state| state.drain_until.is_none());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(drain_until) = state.drain_until else { return true };
        drop(state);
        let end = Instant::now() + pause;
        if end >= drain_until {
            return false;
        }
        thread::sleep(pause);
        true
    }

    fn event(&self, news: &News<'_>) -> Option<Event> {
        let event = Event::new(news);
        event.inspect_err(|error| tracing::error!("a webhook's event could not be written: {error}")).ok()
    }

    fn lose(&self, event: &Event, reason: &str) {
        self.stats.webhooks_lost.fetch_add(1, Ordering::Relaxed);
        tracing::error!("a webhook's event {} is lost: {reason}", event.id);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;
    use crate::UploadId;

    const HOUR_MS: u64 = 3_600_000;

    /// Deliveries, the bodies that are sent, and what is answered to each.
    fn deliveries(limits: WebhookLimits) -> (Deliveries, Arc<Stats>, Receiver<Vec<u8>>, Sender<Delivery>) {
        let stats = Arc::new(Stats::new());
        let (send, sent) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let deliver = move |event: &Event| {
            let _ = send.send(event.body.clone());
            answers.recv().unwrap_or(Delivery::Done)
        };
        (Deliveries::start(limits, Arc::clone(&stats), deliver).unwrap(), stats, sent, answer)
    }

    fn limits() -> WebhookLimits {
        WebhookLimits { first_retry_ms: 1, max_retry_ms: 2, ..WebhookLimits::default() }
    }

    fn news() -> News<'static> {
        News::Terminate { upload_id: UploadId::random().unwrap() }
    }

    fn failed() -> Delivery {
        Delivery::Failed("down".to_owned())
    }

    #[test]
    fn what_fails_is_sent_again_as_it_was_and_before_what_follows() {
        let (deliveries, stats, sent, answer) = deliveries(limits());
        deliveries.hand_over(&news());
        deliveries.hand_over(&news());
        let first = sent.recv().unwrap();
        for _ in 0..3 {
            answer.send(failed()).unwrap();
            assert_eq!(sent.recv().unwrap(), first);
        }
        answer.send(Delivery::Done).unwrap();
        assert_ne!(sent.recv().unwrap(), first);
        drop((answer, deliveries));
        assert_eq!(stats.webhooks_delivered.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn what_is_refused_is_not_sent_again() {
        let (deliveries, stats, sent, answer) = deliveries(limits());
        deliveries.hand_over(&news());
        deliveries.hand_over(&news());
        answer.send(Delivery::Refused(StatusCode::GONE)).unwrap();
        assert_ne!(sent.recv().unwrap(), sent.recv().unwrap());
        assert_eq!(stats.webhooks_lost.load(Ordering::Relaxed), 1);
        drop((answer, deliveries));
    }

    #[test]
    fn it_is_given_up_in_time() {
        let (deliveries, stats, sent, answer) =
            deliveries(WebhookLimits { give_up_after_seconds: 0, ..limits() });
        deliveries.hand_over(&news());
        sent.recv().unwrap();
        answer.send(failed()).unwrap();
        deliveries.hand_over(&news());
        sent.recv().unwrap();
        assert_eq!(stats.webhooks_lost.load(Ordering::Relaxed), 1);
        drop((answer, deliveries));
    }

    #[test]
    fn a_full_queue_loses_what_waited_for_its_time_and_at_once_what_is_worth_little() {
        let (deliveries, stats, sent, answer) =
            deliveries(WebhookLimits { queue_capacity: 2, queue_wait_ms: 1, ..limits() });
        deliveries.hand_over(&news());
        sent.recv().unwrap();
        // The first is being sent, and waits for its answer.
        deliveries.hand_over(&news());
        deliveries.offer(&news());
        deliveries.hand_over(&news());
        assert_eq!(stats.webhooks_lost.load(Ordering::Relaxed), 0);
        deliveries.hand_over(&news());
        assert_eq!(stats.webhooks_lost.load(Ordering::Relaxed), 1);
        drop((answer, deliveries));
        assert_eq!(stats.webhooks_delivered.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn the_end_waits_for_what_waits_and_no_longer_than_it_may() {
        let (deliveries, stats, _sent, answer) = deliveries(WebhookLimits { drain_ms: HOUR_MS, ..limits() });
        deliveries.hand_over(&news());
        answer.send(failed()).unwrap();
        answer.send(Delivery::Done).unwrap();
        drop(deliveries);
        assert_eq!(stats.webhooks_delivered.load(Ordering::Relaxed), 1);

        let stuck = WebhookLimits { drain_ms: 1, first_retry_ms: HOUR_MS, ..limits() };
        let (deliveries, stats, sent, answer) = self::deliveries(stuck);
        deliveries.hand_over(&news());
        sent.recv().unwrap();
        answer.send(failed()).unwrap();
        drop(deliveries);
        assert_eq!(stats.webhooks_delivered.load(Ordering::Relaxed), 0);
    }
}
