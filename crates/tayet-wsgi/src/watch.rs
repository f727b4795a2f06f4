//! Knowing when a worker process has served long enough.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How often a worker looks at its memory and at its calls under way.
const LOOK_INTERVAL_MS: u64 = 500;

/// When a worker is to be replaced. Zeros mean never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    pub(crate) max_requests: u64,
    pub(crate) max_rss_bytes: u64,
    pub(crate) timeout: Duration,
}

/// Counts and times a worker's calls, and tells its supervisor once when the worker is to be replaced: with one letter on a
/// pipe, which needs no GIL.
pub(crate) struct Watch {
    allowance: Allowance,
    supervisor: File,
    epoch: Instant,
    requests: AtomicU64,
    has_told: AtomicBool,
    calls: Mutex<Vec<Weak<CallClock>>>,
}

/// When a thread's call began, in milliseconds since the watch's epoch and one; 0 while there is none.
type CallClock = AtomicU64;

/// Why a worker is to be replaced, as its supervisor reads it.
#[derive(Clone, Copy)]
enum Reason {
    Requests = b'm' as isize,
    Memory = b's' as isize,
    Stuck = b't' as isize,
}

thread_local! {
    /// A thread serves one watch all its life: there is one server in a worker process.
    static CLOCK: OnceCell<Arc<CallClock>> = const { OnceCell::new() };
}

impl Watch {
    /// A watch that tells by `pipe`.
    ///
    /// # Errors
    ///
    /// When its thread cannot be started.
    pub(crate) fn start(allowance: Allowance, pipe: OwnedFd) -> io::Result<Arc<Self>> {
        let watch = Arc::new(Self {
            allowance,
            supervisor: pipe.into(),
            epoch: Instant::now(),
            requests: AtomicU64::new(0),
            has_told: AtomicBool::new(false),
            calls: Mutex::default(),
        });
        if allowance.max_rss_bytes > 0 || !allowance.timeout.is_zero() {
            let looking = Arc::downgrade(&watch);
            thread::Builder::new().name("tayet-watch".to_owned()).spawn(move || look_while_used(&looking))?;
        }
        Ok(watch)
    }

    /// Runs a call under watch.
    pub(crate) fn call<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.allowance.timeout.is_zero() {
            let result = f();
            self.count();
            return result;
        }
        CLOCK.with(|clock| {
            let clock = clock.get_or_init(|| self.new_clock());
            clock.store(self.now_ms() + 1, Ordering::Relaxed);
            let result = f();
            clock.store(0, Ordering::Relaxed);
            self.count();
            result
        })
    }

    fn new_clock(&self) -> Arc<CallClock> {
        let clock = Arc::new(CallClock::new(0));
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&clock));
        clock
    }

    fn count(&self) {
        if self.allowance.max_requests > 0
            && self.requests.fetch_add(1, Ordering::Relaxed) + 1 == self.allowance.max_requests
        {
            self.tell(Reason::Requests);
        }
    }

    fn look(&self) {
        if self.allowance.max_rss_bytes > 0
            && resident_bytes().is_ok_and(|bytes| bytes > self.allowance.max_rss_bytes)
        {
            self.tell(Reason::Memory);
        }
        if !self.allowance.timeout.is_zero() && self.longest_call() > self.allowance.timeout {
            self.tell(Reason::Stuck);
        }
    }

    fn longest_call(&self) -> Duration {
        let now_ms = self.now_ms();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|clock| clock.strong_count() > 0);
        let begun = calls.iter().filter_map(Weak::upgrade).map(|clock| clock.load(Ordering::Relaxed));
        let longest_ms = begun.filter(|&at| at > 0).map(|at| now_ms.saturating_sub(at - 1)).max();
        Duration::from_millis(longest_ms.unwrap_or(0))
    }

    fn tell(&self, reason: Reason) {
        if !self.has_told.swap(true, Ordering::Relaxed)
            && let Err(error) = (&self.supervisor).write_all(&[reason as u8])
        {
            tracing::error!(%error, "the supervisor cannot be told that this worker is to be replaced");
        }
    }

    fn now_ms(&self) -> u64 {
        self.epoch.elapsed().as_millis() as u64
    }
}

fn look_while_used(watch: &Weak<Watch>) {
    while let Some(watch) = watch.upgrade() {
        watch.look();
        drop(watch);
        thread::sleep(Duration::from_millis(LOOK_INTERVAL_MS));
    }
}

/// The process's resident memory.
fn resident_bytes() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
