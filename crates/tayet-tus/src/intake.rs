//! A body on its way into the store.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::Ordering;

use tayet::{HeaderMap, Part, RequestBody};

use crate::active::{Lease, Session};
use crate::clients::ClientUpload;
use crate::store::{Provisional, WriteRanges};
use crate::upload_error::UploadError;
use crate::wanted_checksum::{Sums, WantedChecksum};
use crate::workshop::Workshop;
use crate::{StoreError, StoredUpload, Upload};

/// How much of a body is in memory at a time, beside what waits in the connection's own buffer.
const COPY_BUFFER_BYTES: usize = 64 * 1024;
/// How often `on_progress` is told.
const PROGRESS_INTERVAL_BYTES: u64 = 1024 * 1024;

/// Where the bytes of an upload come from.
pub(crate) trait Source {
    /// Waits for some bytes; none are the end.
    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, UploadError>;

    /// The trailer fields, once the end has come.
    fn trailers(&self) -> Option<&HeaderMap> {
        None
    }
}

impl Source for RequestBody {
    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, UploadError> {
        Self::read_some(self, into).map_err(UploadError::Body)
    }

    fn trailers(&self) -> Option<&HeaderMap> {
        Self::trailers(self)
    }
}

impl Source for Part<'_> {
    fn read_some(&mut self, into: &mut [u8]) -> Result<usize, UploadError> {
        self.read(into).map_err(UploadError::of_part)
    }
}

/// A body on its way into the store, counted as its client's as long as this is there.
pub(crate) struct Intake<'w> {
    workshop: &'w Workshop,
    client: ClientUpload<'w>,
}

impl<'w> Intake<'w> {
    pub(crate) fn new(workshop: &'w Workshop, client: ClientUpload<'w>) -> Self {
        workshop.stats.active.fetch_add(1, Ordering::Relaxed);
        Self { workshop, client }
    }

    /// Appends a body to a sequence. What came of one that breaks off is kept, unless it has a checksum.
    pub(crate) fn append(
        &self,
        lease: &Lease<'_>,
        body: &mut dyn Source,
        wanted: &WantedChecksum,
    ) -> Result<(), UploadError> {
        self.append_reporting(lease, body, wanted, &mut |_| {})
    }

    /// The same; `report` learns each offset that is reached.
    pub(crate) fn append_reporting(
        &self,
        lease: &Lease<'_>,
        body: &mut dyn Source,
        wanted: &WantedChecksum,
        report: &mut dyn FnMut(u64),
    ) -> Result<(), UploadError> {
        let is_provisional = *wanted != WantedChecksum::None;
        let start = lease.with(|stored| {
            if is_provisional {
                provisional(stored)?.begin()?;
            }
            Ok(stored.offset())
        })?;
        let mut reached = start;
        let received = self.receive(body, wanted, |bytes| {
            let (offset, news) = lease.with(|stored| Ok(self.append_part(stored, bytes)))??;
            // The upload is free again: nobody waits for it while a hook or a client takes its time.
            if let Some(upload) = news {
                self.workshop.hooks.progress(&upload, offset);
            }
            report(offset);
            reached = offset;
            Ok(bytes.len() as u64)
        });
        if is_provisional {
            if received.is_err() {
                self.workshop.uncount_stored(reached - start);
            }
            lease.with(|stored| {
                let provisional = provisional(stored)?;
                if received.is_ok() { provisional.keep() } else { provisional.discard() }
            })?;
        }
        let flushed = lease.with(|stored| stored.flush());
        self.counted(received)?;
        Ok(flushed?)
    }

    /// Writes a body at its place in an upload of ranges.
    pub(crate) fn write_range(
        &self,
        session: &Session,
        body: &mut dyn Source,
        range: Range<u64>,
        wanted: &WantedChecksum,
    ) -> Result<(), UploadError> {
        let is_provisional = *wanted != WantedChecksum::None;
        if is_provisional {
            let missing = self.change_ranges(session, |ranges| ranges.mark_missing(range.clone()))?;
            self.workshop.uncount_stored(missing.lost);
        }
        let mut offset = range.start;
        let received = self.receive(body, wanted, |bytes| {
            let end = offset + bytes.len() as u64;
            if end > range.end {
                return Err(UploadError::Malformed("the body is longer than its Content-Range"));
            }
            let change = self.change_ranges(session, |ranges| {
                ranges.write_at(offset, bytes)?;
                if is_provisional { Ok(()) } else { ranges.mark_received(offset..end) }
            })?;
            offset = end;
            Ok(if is_provisional { bytes.len() as u64 } else { change.gained })
        });
        match received {
            Ok(()) if is_provisional => {
                self.change_ranges(session, |ranges| ranges.mark_received(range.start..offset))?;
            }
            Err(_) if is_provisional => self.workshop.uncount_stored(offset - range.start),
            _ => {}
        }
        let flushed = session.with(|| self.workshop.load(session.id()), |stored| stored.flush())?;
        self.counted(received)?;
        Ok(flushed?)
    }

    /// The offset that is reached, and the upload if its progress is news.
    fn append_part(
        &self,
        stored: &mut dyn StoredUpload,
        bytes: &[u8],
    ) -> Result<(u64, Option<Upload>), UploadError> {
        let before = stored.offset();
        let after = before + bytes.len() as u64;
        if stored.upload().length.is_some_and(|length| after > length) {
            return Err(UploadError::TooLarge);
        }
        self.workshop.check_length(after)?;
        stored.append(bytes)?;
        let is_news = before / PROGRESS_INTERVAL_BYTES != after / PROGRESS_INTERVAL_BYTES;
        Ok((after, is_news.then(|| stored.upload().clone())))
    }

    fn change_ranges(
        &self,
        session: &Session,
        change: impl FnOnce(&mut dyn WriteRanges) -> Result<(), StoreError>,
    ) -> Result<Change, UploadError> {
        let load = || self.workshop.load(session.id());
        session.with(load, |stored| {
            if stored.finished().is_some() {
                return Err(UploadError::Conflict("the upload is complete"));
            }
            let ranges = stored.ranges().ok_or(UploadError::Conflict("the upload takes no ranges"))?;
            let before = ranges.received().total_bytes();
            change(ranges)?;
            let after = ranges.received().total_bytes();
            Ok(Change { gained: after.saturating_sub(before), lost: before.saturating_sub(after) })
        })?
    }

    /// Reads a body to its end and checks its sum. `put` says how many of its bytes the store did not have before.
    fn receive(
        &self,
        body: &mut dyn Source,
        wanted: &WantedChecksum,
        mut put: impl FnMut(&[u8]) -> Result<u64, UploadError>,
    ) -> Result<(), UploadError> {
        let mut sums: Sums = wanted.start();
        let mut buffer = vec![0; COPY_BUFFER_BYTES];
        loop {
            let count = body.read_some(&mut buffer)?;
            if count == 0 {
                return wanted.verify(sums, body.trailers());
            }
            self.client.pace(count);
            self.workshop.check_room(count as u64)?;
            sums.update(&buffer[..count]);
            let new_bytes = put(&buffer[..count])?;
            self.workshop.count_stored(new_bytes);
            self.workshop.stats.received(count);
        }
    }

    fn counted(&self, received: Result<(), UploadError>) -> Result<(), UploadError> {
        received.inspect_err(|_| _ = self.workshop.stats.failed.fetch_add(1, Ordering::Relaxed))
    }
}

/// How many bytes of an upload of ranges count more, or less, than before.
struct Change {
    gained: u64,
    lost: u64,
}

impl Drop for Intake<'_> {
    fn drop(&mut self) {
        self.workshop.stats.active.fetch_sub(1, Ordering::Relaxed);
    }
}

fn provisional(stored: &mut dyn StoredUpload) -> Result<&mut dyn Provisional, StoreError> {
    let unable = || std::io::Error::from(std::io::ErrorKind::Unsupported);
    Ok(stored.provisional().ok_or_else(unable)?)
}
