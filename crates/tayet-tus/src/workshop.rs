//! What all protocols do with uploads: create, receive, look, finish, remove.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tayet::Request;

use crate::active::{ActiveUploads, Lease, Patience, Session};
use crate::clients::Clients;
use crate::hooks::{Action, Hooks};
use crate::intake::Intake;
use crate::stats::{Stats, UploadStats};
use crate::upload_error::UploadError;
use crate::{Finished, Kind, Store, StoreError, StoredUpload, Upload, UploadId, UploadLimits};

/// What all protocols do with uploads.
pub(crate) struct Workshop {
    pub(crate) store: Box<dyn Store>,
    pub(crate) limits: UploadLimits,
    pub(crate) hooks: Hooks,
    pub(crate) stats: Arc<Stats>,
    pub(crate) lists_finished: bool,
    pub(crate) active: Arc<ActiveUploads>,
    clients: Clients,
}

/// How far an upload is.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) upload: Upload,
    pub(crate) offset: u64,
    pub(crate) received: Option<crate::ByteRanges>,
    pub(crate) finished: Option<Finished>,
    /// Not of what is finished.
    pub(crate) expires: Option<SystemTime>,
}

impl Workshop {
    pub(crate) fn new(
        store: Box<dyn Store>,
        limits: UploadLimits,
        hooks: Hooks,
        stats: Arc<Stats>,
        lists_finished: bool,
    ) -> Self {
        Self {
            store,
            limits,
            hooks,
            stats,
            lists_finished,
            active: Arc::default(),
            clients: Clients::default(),
        }
    }

    pub(crate) fn authorize(&self, request: &Request, action: Action) -> Result<(), UploadError> {
        self.hooks.authorize(request, action).map_err(UploadError::Refused)
    }

    /// Begins an upload, if it may be.
    pub(crate) fn create(&self, upload: Upload, request: &Request) -> Result<Session, UploadError> {
        self.check_length(upload.length.unwrap_or(0))?;
        self.check_room(upload.length.unwrap_or(0))?;
        self.hooks.create(&upload, request).map_err(UploadError::Refused)?;
        let session = self.active.session(upload.id);
        let stored = match upload.kind {
            Kind::Joined(_) => {
                let concatenate = self.store.concatenate();
                let joined = concatenate
                    .ok_or(UploadError::Unable("uploads cannot be joined"))?
                    .concatenate(upload)?;
                self.count_stored(joined.offset());
                joined
            }
            _ => self.store.create(upload)?,
        };
        session.put(stored);
        self.stats.created.fetch_add(1, Ordering::Relaxed);
        Ok(session)
    }

    /// Refuses what is longer than an upload may be.
    pub(crate) fn check_length(&self, length: u64) -> Result<(), UploadError> {
        let max = self.limits.max_upload_bytes;
        if max > 0 && length > max { Err(UploadError::TooLarge) } else { Ok(()) }
    }

    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), UploadError> {
        let max = self.limits.max_stored_bytes;
        let is_over = max > 0 && self.stats.stored_bytes.load(Ordering::Relaxed).saturating_add(bytes) > max;
        if is_over { Err(UploadError::NoRoom) } else { Ok(()) }
    }

    pub(crate) fn count_stored(&self, bytes: u64) {
        self.stats.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn uncount_stored(&self, bytes: u64) {
        let less = |stored: u64| Some(stored.saturating_sub(bytes));
        let _ = self.stats.stored_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Begins to use an upload, and says how far it is.
    pub(crate) fn open(&self, id: UploadId) -> Result<(Session, Status), UploadError> {
        let session = self.active.session(id);
        let status = self.status(&session)?;
        Ok((session, status))
    }

    /// How far it is. One that has expired is gone, whether it was swept up yet or not.
    pub(crate) fn status(&self, session: &Session) -> Result<Status, UploadError> {
        let status = self.any_status(session)?;
        match status.expires {
            Some(expires) if expires <= SystemTime::now() => Err(UploadError::Gone),
            _ => Ok(status),
        }
    }

    /// How far it is, expired or not.
    pub(crate) fn any_status(&self, session: &Session) -> Result<Status, StoreError> {
        session.with(|| self.load(session.id()), |stored| self.status_of(stored))
    }

    fn status_of(&self, stored: &mut dyn StoredUpload) -> Status {
        let finished = stored.finished().cloned();
        let lifetime = Duration::from_secs(self.limits.lifetime_seconds);
        let can_expire = finished.is_none() && !lifetime.is_zero() && self.store.expire().is_some();
        Status {
            upload: stored.upload().clone(),
            offset: stored.offset(),
            received: stored.ranges().map(|ranges| ranges.received().clone()),
            expires: can_expire.then(|| stored.last_activity() + lifetime),
            finished,
        }
    }

    /// Opens an upload. One that came whole just before a crash is finished now.
    pub(crate) fn load(&self, id: UploadId) -> Result<Box<dyn StoredUpload>, StoreError> {
        let mut stored = self.store.open(id)?;
        if let Some((upload, finished)) = finish_if_whole(stored.as_mut())? {
            self.announce(&upload, &finished);
        }
        Ok(stored)
    }

    /// The right to write to an upload.
    pub(crate) fn lease<'s>(&self, session: &'s Session) -> Result<Lease<'s>, UploadError> {
        let silence = Duration::from_millis(self.limits.takeover_silence_ms);
        let wait = Duration::from_millis(self.limits.lock_wait_ms);
        Ok(session.lease(Patience { silence, wait })?)
    }

    /// Finishes an upload if all of it is there.
    pub(crate) fn finish(&self, session: &Session) -> Result<(), UploadError> {
        let id = session.id();
        if let Some((upload, finished)) = session.with(|| self.load(id), finish_if_whole)?? {
            self.announce(&upload, &finished);
        }
        Ok(())
    }

    fn announce(&self, upload: &Upload, finished: &Finished) {
        self.stats.finished(upload.id, finished);
        self.hooks.complete(upload, finished);
    }

    /// Removes an upload.
    pub(crate) fn terminate(&self, session: &Session) -> Result<(), UploadError> {
        let status = self.status(session)?;
        self.remove(session, status.offset)?;
        self.stats.terminated.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Removes an upload whatever its state, with so many bytes.
    pub(crate) fn remove(&self, session: &Session, bytes: u64) -> Result<(), UploadError> {
        let terminate = self.store.terminate().ok_or(UploadError::Unable("uploads cannot be removed"))?;
        session.closed(|| terminate.terminate(session.id()))?;
        self.uncount_stored(bytes);
        self.stats.unlist(session.id());
        self.hooks.terminate(session.id());
        Ok(())
    }

    /// Removes an upload that its client will never learn of.
    pub(crate) fn discard(&self, session: &Session) {
        let bytes = self.status(session).map_or(0, |status| status.offset);
        if let Err(error) = self.remove(session, bytes) {
            tracing::warn!("an upload that nobody knows of could not be removed: {error}");
        }
    }

    /// Begins to receive a body.
    pub(crate) fn intake(&self, request: &Request) -> Result<Intake<'_>, UploadError> {
        let limits = &self.limits;
        let client =
            self.clients.enter(request, limits.max_client_uploads, limits.max_client_bytes_per_second);
        let client = client.ok_or(UploadError::TooMany)?;
        Ok(Intake::new(self, client))
    }

    pub(crate) fn figures(&self) -> UploadStats {
        self.stats.snapshot(self.lists_finished)
    }
}

/// Finishes an upload of which nothing is missing; says so if it did.
pub(crate) fn finish_if_whole(
    stored: &mut dyn StoredUpload,
) -> Result<Option<(Upload, Finished)>, StoreError> {
    let upload = stored.upload().clone();
    let is_whole = upload.length == Some(stored.offset()) && upload.kind != Kind::Part;
    if !is_whole || stored.finished().is_some() {
        return Ok(None);
    }
    let finished = stored.finish()?.clone();
    Ok(Some((upload, finished)))
}
