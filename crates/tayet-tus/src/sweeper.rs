//! Looking for uploads that nobody comes back for.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::store::Expire;
use crate::upload_error::UploadError;
use crate::workshop::Workshop;
use crate::{StoreError, UploadId};

/// The thread that looks. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sweeper {
    _alive: mpsc::Sender<()>,
}

impl Sweeper {
    /// Sweeps every so often.
    pub(crate) fn start(workshop: &Arc<Workshop>, interval: Duration) -> std::io::Result<Self> {
        let (alive, ended) = mpsc::channel();
        let workshop = Arc::downgrade(workshop);
        thread::Builder::new()
            .name("tayet-sweeper".to_owned())
            .spawn(move || run(&workshop, &ended, interval))?;
        Ok(Self { _alive: alive })
    }
}

fn run(workshop: &Weak<Workshop>, ended: &mpsc::Receiver<()>, interval: Duration) {
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
        let Some(workshop) = workshop.upgrade() else { return };
        sweep(&workshop, SystemTime::now());
    }
}

/// What a crash left is put right: uploads that came whole are finished, and those that are are listed.
pub(crate) fn recover(workshop: &Workshop) {
    let Some(expire) = workshop.store.expire() else { return };
    for id in ids(expire) {
        match workshop.open(id) {
            Ok((_session, status)) => {
                if let Some(finished) = status.finished {
                    workshop.stats.unlist(id);
                    workshop.stats.list(id, &finished);
                }
            }
            Err(UploadError::Gone | UploadError::NotFound) => {}
            Err(error) => tracing::warn!("the upload {id} cannot be opened: {error}"),
        }
    }
}

/// Removes what has expired by `now`.
pub(crate) fn sweep(workshop: &Workshop, now: SystemTime) {
    let Some(expire) = workshop.store.expire() else { return };
    for id in ids(expire) {
        if let Err(error) = sweep_one(workshop, expire, id, now) {
            tracing::warn!("the upload {id} cannot be swept up: {error}");
        }
    }
    let orphaned = now.checked_sub(Duration::from_secs(workshop.limits.lifetime_seconds));
    if let Some(before) = orphaned.filter(|_| workshop.limits.lifetime_seconds > 0)
        && let Err(error) = expire.tidy(before)
    {
        tracing::warn!("what a crash left behind cannot be removed: {error}");
    }
    // What comes meanwhile may be missed until the next time.
    match expire.used_bytes() {
        Ok(bytes) => workshop.stats.stored_bytes.store(bytes, Ordering::Relaxed),
        Err(error) => tracing::warn!("it cannot be said how much is stored: {error}"),
    }
}

fn ids(expire: &dyn Expire) -> Vec<UploadId> {
    expire.ids().unwrap_or_else(|error| {
        tracing::warn!("the uploads cannot be listed: {error}");
        Vec::new()
    })
}

fn sweep_one(
    workshop: &Workshop,
    expire: &dyn Expire,
    id: UploadId,
    now: SystemTime,
) -> Result<(), UploadError> {
    let record_lifetime = Duration::from_secs(workshop.limits.record_lifetime_seconds);
    let is_past = |since: SystemTime| !record_lifetime.is_zero() && since + record_lifetime <= now;
    if workshop.active.contains(id) {
        return Ok(());
    }
    let session = workshop.active.session(id);
    let status = match workshop.any_status(&session) {
        Ok(status) => status,
        Err(StoreError::Gone { since }) if is_past(since) => return Ok(expire.forget(id)?),
        Err(StoreError::Gone { .. } | StoreError::NotFound) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match (status.finished, status.expires) {
        (Some(finished), _) if is_past(finished.at.into()) => {
            workshop.stats.unlist(id);
            Ok(session.closed(|| expire.forget(id))?)
        }
        (None, Some(expires)) if expires <= now => {
            workshop.stats.expired.fetch_add(1, Ordering::Relaxed);
            workshop.remove(&session, status.offset)
        }
        _ => Ok(()),
    }
}
