//! Uploads in a bucket.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tayet_tus::store::{Abilities, Concatenate, Expire, Terminate};
use tayet_tus::{Kind, Store, StoreError, StoredUpload, UnixSeconds, Upload, UploadId};

use crate::bucket::{Part, UploadBucket};
use crate::limits::{MAX_PART_BYTES, MAX_PARTS, MIN_PART_BYTES};
use crate::record::Record;
use crate::stored::BucketUpload;
use crate::{InvalidS3Config, S3Config, S3Limits};

/// Bytes of an upload that come here at a time when it is too short to be copied where it is.
const JOIN_BUFFER_BYTES: u64 = 1024 * 1024;

/// Uploads in a bucket. See [the crate](crate) for what lies where, and for what it cannot do.
#[derive(Clone, Debug)]
pub struct S3Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bucket: UploadBucket,
    workshop: PathBuf,
    limits: S3Limits,
}

/// A part of a concatenation, complete.
struct Source {
    key: String,
    length: u64,
}

impl S3Store {
    /// A store in this bucket, which must be there. Nobody is asked yet: [`S3Store::check`] does.
    ///
    /// # Errors
    ///
    /// What cannot be.
    pub fn new(config: S3Config) -> Result<Self, InvalidS3Config> {
        let config = config.check()?;
        let (workshop, limits) = (config.workshop.clone(), config.limits.clone());
        Ok(Self { shared: Arc::new(Shared { bucket: UploadBucket::new(config), workshop, limits }) })
    }

    /// Asks whether the bucket is there, and lets itself be listed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when nobody answers, [`StoreError::Io`] when it is refused.
    pub fn check(&self) -> Result<(), StoreError> {
        Ok(self.bucket().workshop().map(drop)?)
    }

    pub(crate) fn bucket(&self) -> &UploadBucket {
        &self.shared.bucket
    }

    /// Where parts are gathered.
    pub(crate) fn workshop(&self) -> &Path {
        &self.shared.workshop
    }

    /// The key of an upload once it is one object.
    pub(crate) fn object_key(&self, upload: &Upload) -> String {
        match upload.kind {
            Kind::Part => self.bucket().bytes_key(upload.id),
            _ => self.bucket().file_key(&file_name(upload)),
        }
    }

    pub(crate) fn write_record(&self, record: &Record) -> Result<(), StoreError> {
        Ok(self.bucket().write_record(record.upload.id, &record.to_json())?)
    }

    fn read_record(&self, id: UploadId) -> Result<Record, StoreError> {
        let json = self.bucket().read_record(id)?.ok_or(StoreError::NotFound)?;
        let record = Record::parse(&json)?;
        match record.gone {
            Some(gone) => Err(StoreError::Gone { since: gone.into() }),
            None => Ok(record),
        }
    }

    fn open(&self, id: UploadId) -> Result<BucketUpload, StoreError> {
        BucketUpload::open(self.clone(), self.read_record(id)?)
    }

    fn new_record(&self, upload: Upload) -> Result<Record, StoreError> {
        let too_long = || io::Error::new(io::ErrorKind::FileTooLarge, "no object can have this length");
        let part_bytes = self.shared.limits.part_bytes_for(upload.length).ok_or_else(too_long)?;
        Ok(Record::new(upload, part_bytes))
    }

    /// Removes the bytes of an upload, wherever they are.
    fn remove_bytes(&self, record: &Record) -> Result<(), StoreError> {
        let key = self.object_key(&record.upload);
        if let Some(multipart) = &record.multipart
            && let Err(failure) = self.bucket().abort_multipart(&key, multipart)
            // It was completed, or removed before.
            && !failure.is_refusal()
        {
            return Err(failure.into());
        }
        self.bucket().delete(&key)?;
        Ok(self.bucket().delete_ends(record.upload.id)?)
    }
}

/// What an upload's object is called behind the prefix.
pub(crate) fn file_name(upload: &Upload) -> String {
    let name = upload.metadata.safe_file_name().unwrap_or_else(|| "upload".to_owned());
    format!("{}/{name}", upload.id)
}

impl Store for S3Store {
    fn create(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError> {
        let record = self.new_record(upload)?;
        self.write_record(&record)?;
        Ok(Box::new(BucketUpload::new(self.clone(), record)))
    }

    fn open(&self, id: UploadId) -> Result<Box<dyn StoredUpload>, StoreError> {
        Ok(Box::new(self.open(id)?))
    }

    fn abilities(&self) -> Abilities {
        Abilities { provisional: true, ranges: false }
    }

    fn terminate(&self) -> Option<&dyn Terminate> {
        Some(self)
    }

    fn concatenate(&self) -> Option<&dyn Concatenate> {
        Some(self)
    }

    fn expire(&self) -> Option<&dyn Expire> {
        Some(self)
    }
}

impl Terminate for S3Store {
    fn terminate(&self, id: UploadId) -> Result<(), StoreError> {
        let mut record = self.read_record(id)?;
        record.gone = Some(UnixSeconds::now());
        // First the record: one without its bytes would be a lie.
        self.write_record(&record)?;
        self.remove_bytes(&record)
    }
}

impl Concatenate for S3Store {
    fn concatenate(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError> {
        let Kind::Joined(parts) = &upload.kind else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        };
        let mut sources: Vec<_> = parts.iter().map(|part| self.source(*part)).collect::<Result<_, _>>()?;
        sources.retain(|source| source.length > 0);
        let record = self.new_record(upload)?;
        let joined = match pieces(&sources) {
            Some(pieces) => self.join_copied(record, &pieces)?,
            None => self.join_through_here(record, &sources)?,
        };
        Ok(Box::new(joined))
    }
}

impl S3Store {
    fn source(&self, id: UploadId) -> Result<Source, StoreError> {
        let record = self.read_record(id)?;
        let length = match (&record.finished, record.upload.length) {
            (Some(finished), _) => finished.length,
            // What has no bytes is complete when it is created; there is no object.
            (None, Some(0)) => 0,
            (None, _) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "a part is not complete").into());
            }
        };
        Ok(Source { key: self.object_key(&record.upload), length })
    }

    /// The server copies; nothing comes here.
    fn join_copied(
        &self,
        mut record: Record,
        pieces: &[(&Source, std::ops::Range<u64>)],
    ) -> Result<BucketUpload, StoreError> {
        let key = self.object_key(&record.upload);
        let multipart = self.bucket().begin_multipart(&key)?;
        let copy = |(index, (source, range)): (usize, &(&Source, std::ops::Range<u64>))| {
            self.bucket().copy_part(&key, &multipart, index + 1, &source.key, range.clone())
        };
        let copied: Result<Vec<Part>, _> = pieces.iter().enumerate().map(copy).collect();
        record.multipart = Some(multipart.clone());
        let written = copied.map_err(StoreError::from).and_then(|parts| {
            self.write_record(&record)?;
            Ok(parts)
        });
        match written {
            Ok(parts) => Ok(BucketUpload::with_parts(self.clone(), record, parts)),
            Err(error) => {
                let _ = self.bucket().abort_multipart(&key, &multipart);
                Err(error)
            }
        }
    }

    fn join_through_here(&self, record: Record, sources: &[Source]) -> Result<BucketUpload, StoreError> {
        self.write_record(&record)?;
        let id = record.upload.id;
        let mut joined = BucketUpload::new(self.clone(), record);
        let appended = sources.iter().try_for_each(|source| {
            (0..source.length).step_by(JOIN_BUFFER_BYTES as usize).try_for_each(|start| {
                let end = source.length.min(start + JOIN_BUFFER_BYTES);
                joined.append(&self.bucket().read(&source.key, start..end)?)
            })
        });
        if let Err(error) = appended {
            // Its client never learns of it.
            let _ = Terminate::terminate(self, id);
            return Err(error);
        }
        Ok(joined)
    }
}

/// What is copied as one part each; `None` where that cannot be, since a part but the last would be too small.
fn pieces(sources: &[Source]) -> Option<Vec<(&Source, std::ops::Range<u64>)>> {
    let (last, others) = sources.split_last()?;
    if last.length == 0 || others.iter().any(|source| source.length < MIN_PART_BYTES) {
        return None;
    }
    let pieces: Vec<_> = sources
        .iter()
        .flat_map(|source| {
            let count = source.length.div_ceil(MAX_PART_BYTES);
            let at =
                move |index: u64| (u128::from(source.length) * u128::from(index) / u128::from(count)) as u64;
            (0..count).map(move |index| (source, at(index)..at(index + 1)))
        })
        .collect();
    (pieces.len() <= MAX_PARTS).then_some(pieces)
}

impl Expire for S3Store {
    fn ids(&self) -> Result<Vec<UploadId>, StoreError> {
        let records = self.bucket().workshop()?.into_iter().filter(|object| object.is_record);
        Ok(records.map(|object| object.id).collect())
    }

    fn forget(&self, id: UploadId) -> Result<(), StoreError> {
        let Some(json) = self.bucket().read_record(id)? else { return Ok(()) };
        let record = Record::parse(&json)?;
        if record.gone.is_some() {
            // A crash may have come between its record and its bytes.
            self.remove_bytes(&record)?;
        }
        Ok(self.bucket().delete_record(id)?)
    }

    fn tidy(&self, before: SystemTime) -> Result<(), StoreError> {
        let (records, others): (Vec<_>, Vec<_>) =
            self.bucket().workshop()?.into_iter().partition(|object| object.is_record);
        let known: std::collections::HashSet<_> = records.into_iter().map(|record| record.id).collect();
        let is_old = |at: Option<SystemTime>| at.is_some_and(|at| at < before);
        let orphans = others.into_iter().filter(|object| !known.contains(&object.id));
        for orphan in orphans.filter(|object| is_old(object.last_modified)) {
            self.bucket().delete(&orphan.key)?;
        }
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64, StoreError> {
        let bytes = |id| match self.open(id) {
            Ok(upload) => Ok(upload.offset()),
            Err(StoreError::NotFound | StoreError::Gone { .. }) => Ok(0),
            Err(error) => Err(error),
        };
        self.ids()?.into_iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(lengths: &[u64]) -> Vec<Source> {
        lengths.iter().map(|length| Source { key: length.to_string(), length: *length }).collect()
    }

    #[test]
    fn what_is_long_enough_is_copied_where_it_is() {
        for lengths in [&[1][..], &[MIN_PART_BYTES, 1], &[MAX_PART_BYTES]] {
            let sources = sources(lengths);
            let pieces = pieces(&sources).unwrap();
            assert!(
                pieces.iter().map(|(source, range)| (source.length, range)).eq(lengths
                    .iter()
                    .map(|length| (*length, 0..*length))
                    .collect::<Vec<_>>()
                    .iter()
                    .map(|(length, range)| (*length, range)))
            );
        }
        for lengths in [&[][..], &[0], &[1, 1], &[MIN_PART_BYTES - 1, 1], &[MIN_PART_BYTES, 0]] {
            assert!(pieces(&sources(lengths)).is_none(), "{lengths:?}");
        }
    }

    #[test]
    fn what_is_too_long_for_one_part_is_several_without_a_gap() {
        let length = 2 * MAX_PART_BYTES + 7;
        let sources = sources(&[length]);
        let pieces = pieces(&sources).unwrap();
        assert_eq!(pieces.len(), 3);
        let mut end = 0;
        for (_, range) in pieces {
            assert_eq!(range.start, end);
            assert!((MIN_PART_BYTES..=MAX_PART_BYTES).contains(&(range.end - range.start)));
            end = range.end;
        }
        assert_eq!(end, length);
    }
}
