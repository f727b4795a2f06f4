//! The uploads that requests are about now, and who may write to each.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{StoreError, StoredUpload, UploadId};

/// The uploads that requests are about now: each is open once, whatever the number of requests.
#[derive(Default)]
pub(crate) struct ActiveUploads {
    cells: Mutex<HashMap<UploadId, Entry>>,
}

struct Entry {
    cell: Arc<Cell>,
    sessions: usize,
}

#[derive(Default)]
struct Cell {
    state: Mutex<State>,
    released: Condvar,
}

/// An upload and who may write to it.
///
/// A writer holds a ticket, not a lock: each of its writes shows the ticket, and a writer whose ticket was given to another
/// writes no more. So nobody need wake a writer whose client has died silently and who would read for minutes.
#[derive(Default)]
struct State {
    stored: Option<Box<dyn StoredUpload>>,
    writer: Option<Writer>,
    last_ticket: u64,
}

struct Writer {
    ticket: u64,
    last_progress: Instant,
}

/// A request's use of an upload.
pub(crate) struct Session {
    active: Arc<ActiveUploads>,
    cell: Arc<Cell>,
    id: UploadId,
}

/// The right to write to an upload, until somebody takes it over or it is dropped.
pub(crate) struct Lease<'s> {
    cell: &'s Cell,
    ticket: u64,
}

/// How long a new writer waits for the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// A writer that has written nothing for so long is taken for dead.
    pub(crate) silence: Duration,
    /// After so long the new one gives up.
    pub(crate) wait: Duration,
}

/// Why there is no lease, or its write did not happen.
#[derive(Debug)]
pub(crate) enum LeaseError {
    /// Another writer has it and is alive, or has taken it over; or the upload was removed.
    Taken,
    Store(StoreError),
}

impl ActiveUploads {
    /// Begins a request's use of an upload.
    pub(crate) fn session(self: &Arc<Self>, id: UploadId) -> Session {
        let mut cells = lock(&self.cells);
        let entry = cells.entry(id).or_insert_with(|| Entry { cell: Arc::default(), sessions: 0 });
        entry.sessions += 1;
        Session { active: Arc::clone(self), cell: Arc::clone(&entry.cell), id }
    }

    /// Whether a request is about this upload now.
    pub(crate) fn contains(&self, id: UploadId) -> bool {
        lock(&self.cells).contains_key(&id)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut cells = lock(&self.active.cells);
        if let Some(entry) = cells.get_mut(&self.id) {
            entry.sessions -= 1;
            if entry.sessions == 0 {
                cells.remove(&self.id);
            }
        }
    }
}

impl Session {
    pub(crate) fn id(&self) -> UploadId {
        self.id
    }

    /// Puts an upload in that has just been created.
    pub(crate) fn put(&self, stored: Box<dyn StoredUpload>) {
        lock(&self.cell.state).stored = Some(stored);
    }

    /// Looks at the upload, opened by `open` if it is not.
    pub(crate) fn with<R>(
        &self,
        open: impl FnOnce() -> Result<Box<dyn StoredUpload>, StoreError>,
        look: impl FnOnce(&mut dyn StoredUpload) -> R,
    ) -> Result<R, StoreError> {
        let mut state = lock(&self.cell.state);
        let stored = match &mut state.stored {
            Some(stored) => stored,
            none => none.insert(open()?),
        };
        Ok(look(stored.as_mut()))
    }

    /// Becomes the writer: at once where there is none or a silent one, else when the one before is through.
    pub(crate) fn lease(&self, patience: Patience) -> Result<Lease<'_>, LeaseError> {
        let give_up = Instant::now() + patience.wait;
        let mut state = lock(&self.cell.state);
        while let Some(writer) = &state.writer {
            let now = Instant::now();
            let dead = writer.last_progress + patience.silence;
            if now >= dead {
                break;
            }
            if now >= give_up {
                return Err(LeaseError::Taken);
            }
            let timeout = dead.min(give_up) - now;
            state = self.cell.released.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.settle().map_err(LeaseError::Store)?;
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.writer = Some(Writer { ticket, last_progress: Instant::now() });
        Ok(Lease { cell: &self.cell, ticket })
    }

    /// Takes the right to write from whoever has it, so that the offset stays what it is until a new writer comes.
    pub(crate) fn fence(&self) -> Result<(), StoreError> {
        let settled = lock(&self.cell.state).settle();
        self.cell.released.notify_all();
        settled
    }

    /// Closes the upload while `change` changes it behind the back of its open file.
    pub(crate) fn closed<R>(&self, change: impl FnOnce() -> R) -> R {
        let mut state = lock(&self.cell.state);
        state.writer = None;
        state.stored = None;
        self.cell.released.notify_all();
        change()
    }
}

impl State {
    /// Ends the writer, if there is one: what it wrote counts or does not, as if its connection had broken.
    fn settle(&mut self) -> Result<(), StoreError> {
        let (Some(_), Some(stored)) = (self.writer.take(), &mut self.stored) else { return Ok(()) };
        if let Some(provisional) = stored.provisional() {
            provisional.discard()?;
        }
        stored.flush()
    }
}

impl Lease<'_> {
    /// Writes, if the lease still holds.
    pub(crate) fn with<R>(
        &self,
        write: impl FnOnce(&mut dyn StoredUpload) -> Result<R, StoreError>,
    ) -> Result<R, LeaseError> {
        let mut state = lock(&self.cell.state);
        let state = &mut *state;
        let (Some(writer), Some(stored)) = (&mut state.writer, &mut state.stored) else {
            return Err(LeaseError::Taken);
        };
        if writer.ticket != self.ticket {
            return Err(LeaseError::Taken);
        }
        let written = write(stored.as_mut()).map_err(LeaseError::Store);
        // A store may take its time; that is not the writer's silence.
        writer.last_progress = Instant::now();
        written
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.cell.state);
        if state.writer.as_ref().is_some_and(|writer| writer.ticket == self.ticket) {
            state.writer = None;
            self.cell.released.notify_all();
        }
    }
}

/// What is behind these locks is whole whenever a thread can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskStore, Kind, Metadata, Store, Upload};

    const FOREVER: Duration = Duration::from_secs(600);

    fn session() -> (tempfile::TempDir, Arc<ActiveUploads>, Session) {
        let directory = tempfile::tempdir().unwrap();
        let store = DiskStore::new(directory.path()).unwrap();
        let stored = store.create(Upload::new(Kind::Sequence, None, Metadata::default()).unwrap()).unwrap();
        let active = Arc::new(ActiveUploads::default());
        let session = active.session(stored.upload().id);
        session.put(stored);
        (directory, active, session)
    }

    fn never_opened() -> Result<Box<dyn StoredUpload>, StoreError> {
        panic!("it is open already")
    }

    #[test]
    fn a_live_writer_is_not_disturbed() {
        let (_directory, _active, session) = session();
        let lease = session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).unwrap();
        assert!(session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).is_err());
        lease.with(|stored| stored.append(b"a")).unwrap();
        drop(lease);
        session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).unwrap();
    }

    #[test]
    fn a_silent_writer_is_taken_over_and_writes_no_more() {
        let (_directory, _active, session) = session();
        let old = session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).unwrap();
        let new = session.lease(Patience { silence: Duration::ZERO, wait: Duration::ZERO }).unwrap();
        assert!(matches!(old.with(|stored| stored.append(b"old")), Err(LeaseError::Taken)));
        new.with(|stored| stored.append(b"new")).unwrap();
        drop(old);
        new.with(|stored| stored.append(b"er")).unwrap();
        assert_eq!(session.with(never_opened, |stored| stored.offset()).unwrap(), 5);
    }

    #[test]
    fn a_fence_ends_the_writer() {
        let (_directory, _active, session) = session();
        let lease = session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).unwrap();
        session.fence().unwrap();
        assert!(matches!(lease.with(|stored| stored.append(b"a")), Err(LeaseError::Taken)));
    }

    #[test]
    fn who_waits_gets_it_when_the_writer_is_through() {
        let (_directory, active, session) = session();
        let other = active.session(session.id());
        let lease = session.lease(Patience { silence: FOREVER, wait: Duration::ZERO }).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| other.lease(Patience { silence: FOREVER, wait: FOREVER }).is_ok());
            drop(lease);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn the_last_session_closes_the_upload() {
        let (_directory, active, session) = session();
        let id = session.id();
        let second = active.session(id);
        drop(session);
        assert!(active.contains(id));
        drop(second);
        assert!(!active.contains(id));
    }
}
