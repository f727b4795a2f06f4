//! The figures as a stream of events: one thread publishes them, for all who look.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tayet::{Replay, ServerHandle, Sse, State, TopicError};

use super::rates::{Rates, Reading};
use super::{Figures, Source};

/// How often the figures are published while somebody looks.
const PERIOD_MS: u64 = 1_000;
/// What is kept for those who begin to look, or come back: as much as the page's charts show.
const KEPT_TICKS: usize = 60;
/// How long a page waits before it comes back when the stream broke.
const RETRY_MS: u64 = 1_000;

const TOPIC: &str = "figures";

/// What is published.
#[derive(Serialize)]
struct Tick {
    at_ms: u64,
    #[serde(flatten)]
    rates: Option<Rates>,
    #[serde(flatten)]
    figures: Figures,
}

/// `GET /figures/events`.
pub(super) fn events(State(source): State<Source>, server: ServerHandle) -> tayet::Result<Sse> {
    source.ticker.start(&server, &source)?;
    Ok(Sse::topic(TOPIC).replay(Replay::Last(KEPT_TICKS)).retry(Duration::from_millis(RETRY_MS)))
}

/// The thread that publishes; there is none before somebody first looks.
#[derive(Default)]
pub(super) struct Ticker {
    has_started: Mutex<bool>,
}

impl Ticker {
    fn start(&self, server: &ServerHandle, source: &Source) -> io::Result<()> {
        let mut has_started = self.has_started.lock().unwrap_or_else(PoisonError::into_inner);
        if !*has_started {
            let (server, source) = (server.clone(), source.clone());
            thread::Builder::new().name("demo-figures".to_owned()).spawn(move || run(&server, &source))?;
            *has_started = true;
        }
        Ok(())
    }
}

fn run(server: &ServerHandle, source: &Source) {
    let mut last = None;
    while !server.is_shutting_down() {
        last = tick(server, source, last.as_ref()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the figures cannot be published");
            None
        });
        thread::sleep(Duration::from_millis(PERIOD_MS));
    }
}

/// Publishes what there is since the last time if somebody looks, and returns from where to go on.
fn tick(
    server: &ServerHandle,
    source: &Source,
    last: Option<&Reading>,
) -> Result<Option<Reading>, TopicError> {
    let topics = server.topics();
    if topics.members(TOPIC) == 0 {
        topics.forget(TOPIC);
        return Ok(None);
    }
    let metrics = server.metrics();
    let reading = Reading::of(&metrics.routes);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let rates = last.map(|last| reading.since(last));
    let figures = Figures::new(&metrics, source);
    let tick = Tick { at_ms: since_epoch.as_millis() as u64, rates, figures };
    topics.keep(TOPIC, KEPT_TICKS)?;
    topics.publish(TOPIC, serde_json::to_string(&tick).expect("it has no keys but text"))?;
    Ok(Some(reading))
}
