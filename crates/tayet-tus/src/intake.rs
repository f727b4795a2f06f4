//! A body on its way into the store.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::Ordering;

use tayet::{HeaderMap, Part, RequestBody};

use crate::active::{Lease, Session};
use crate::clients::ClientUpload;
use crate::store::Provisional;
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
        if is_provisional {
            lease.with(|stored| provisional(stored)?.begin())?;
        }
        let received = self.receive(body, wanted, |bytes| {
            let (offset, news) = lease.with(|stored| Ok(self.append_part(stored, bytes)))??;
            // The upload is free again: nobody waits for it while a hook or a client takes its time.
            if let Some(upload) = news {
                self.workshop.hooks.progress(&upload, offset);
            }
            report(offset);
            Ok(())
        });
        if is_provisional {
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
            self.with_ranges(session, |ranges| ranges.mark_missing(range.clone()))?;
        }
        let mut offset = range.start;
        let received = self.receive(body, wanted, |bytes| {
            let end = offset + bytes.len() as u64;
            if end > range.end {
                return Err(UploadError::Malformed("the body is longer than its Content-Range"));
            }
            self.with_ranges(session, |ranges| {
                ranges.write_at(offset, bytes)?;
                if is_provisional { Ok(()) } else { ranges.mark_received(offset..end) }
            })?;
            offset = end;
            Ok(())
        });
        if is_provisional && received.is_ok() {
            self.with_ranges(session, |ranges| ranges.mark_received(range.start..offset))?;
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

    fn with_ranges(
        &self,
        session: &Session,
        write: impl FnOnce(&mut dyn crate::store::WriteRanges) -> Result<(), StoreError>,
    ) -> Result<(), UploadError> {
        let load = || self.workshop.load(session.id());
        session.with(load, |stored| {
            if stored.finished().is_some() {
                return Err(UploadError::Conflict("the upload is complete"));
            }
            let ranges = stored.ranges().ok_or(UploadError::Conflict("the upload takes no ranges"))?;
            Ok(write(ranges)?)
        })?
    }

    /// Reads a body to its end and checks its sum.
    fn receive(
        &self,
        body: &mut dyn Source,
        wanted: &WantedChecksum,
        mut put: impl FnMut(&[u8]) -> Result<(), UploadError>,
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
            put(&buffer[..count])?;
            self.workshop.count_stored(count as u64);
            self.workshop.stats.received(count);
        }
    }

    fn counted(&self, received: Result<(), UploadError>) -> Result<(), UploadError> {
        received.inspect_err(|_| _ = self.workshop.stats.failed.fetch_add(1, Ordering::Relaxed))
    }
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
