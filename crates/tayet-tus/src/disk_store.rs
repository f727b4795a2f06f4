//! Uploads in a directory of the local disk.

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod faults;
mod files;
mod record;
mod stored;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use self::files::{Durability, Files};
use self::record::Record;
use self::stored::DiskUpload;
use crate::store::{Abilities, Concatenate, Expire, Terminate};
use crate::{Kind, Store, StoreError, StoredUpload, UnixSeconds, Upload, UploadId};

/// The directory of what is not finished, in that of what is. No finished file can have its name.
const WORKSHOP: &str = ".uploads";

/// Uploads in a directory of the local disk: finished ones by the name that their client gave them, others in `.uploads`.
///
/// An upload is two files: its bytes, and a record of what is known of it. A program that is killed, or a disk that is full,
/// leaves each upload complete or resumable at an offset up to which every byte is what the client sent. What a loss of power
/// may take is said by [`Fsync`].
///
/// A finished file never takes the place of another: the second `report.pdf` becomes `report (2).pdf`.
#[derive(Clone, Debug)]
pub struct DiskStore {
    directory: PathBuf,
    workshop: PathBuf,
    fsync: Fsync,
    digests: bool,
    files: Files,
}

/// When bytes are made to outlast a loss of power. A crash of the program alone loses nothing in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// When the system gets to it.
    Never,
    /// Before an upload is said to be complete. An upload under way may lose what came last, or fall back to less.
    #[default]
    OnComplete,
    /// Before any offset is said.
    OnEveryAppend,
}

/// What is written for, since [`Fsync`] tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// An upload under way.
    Append,
    /// The end of one.
    Completion,
}

impl DiskStore {
    /// A store in this directory, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let workshop = directory.join(WORKSHOP);
        fs::create_dir_all(&workshop)?;
        Ok(Self { directory, workshop, fsync: Fsync::default(), digests: false, files: Files::default() })
    }

    /// When bytes are made to outlast a loss of power. Default: [`Fsync::OnComplete`].
    #[must_use]
    pub fn fsync(mut self, fsync: Fsync) -> Self {
        self.fsync = fsync;
        self
    }

    /// Computes the SHA-256 of every file: while it comes, or, if it came in several requests, when it is complete. Default: no.
    #[must_use]
    pub fn digests(mut self) -> Self {
        self.digests = true;
        self
    }

    /// Where finished files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn data_path(&self, id: UploadId) -> PathBuf {
        self.workshop.join(format!("{id}.data"))
    }

    fn record_path(&self, id: UploadId) -> PathBuf {
        self.workshop.join(format!("{id}.json"))
    }

    fn read_record(&self, id: UploadId) -> Result<Record, StoreError> {
        match self.files.read(&self.record_path(id)) {
            Ok(bytes) => Record::parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StoreError::NotFound),
            Err(error) => Err(error.into()),
        }
    }

    fn write_record(&self, record: &Record, moment: Moment) -> Result<(), StoreError> {
        let path = self.record_path(record.upload.id);
        Ok(self.files.replace(&path, &record.to_json(), self.durability(moment))?)
    }

    fn durability(&self, moment: Moment) -> Durability {
        match (self.fsync, moment) {
            (Fsync::OnEveryAppend, _) | (Fsync::OnComplete, Moment::Completion) => Durability::Synced,
            (Fsync::Never, _) | (Fsync::OnComplete, Moment::Append) => Durability::Cached,
        }
    }

    /// Makes an upload whose data file `fill` fills. The record comes last: data without one belongs to nobody.
    fn create_with(
        &self,
        upload: Upload,
        fill: impl FnOnce(&mut files::DataFile) -> Result<(), StoreError>,
    ) -> Result<Box<dyn StoredUpload>, StoreError> {
        let id = upload.id;
        let record = Record::new(upload);
        let mut data = self.files.create_data(&self.data_path(id))?;
        let written = fill(&mut data).and_then(|()| self.write_record(&record, Moment::Append)).and_then(
            |()| match self.durability(Moment::Append) {
                Durability::Synced => Ok(self.files.sync_directory(&self.workshop)?),
                Durability::Cached => Ok(()),
            },
        );
        if let Err(error) = written {
            let _ = self.files.remove(&self.record_path(id));
            let _ = self.files.remove(&self.data_path(id));
            return Err(error);
        }
        Ok(Box::new(DiskUpload::new(self.clone(), record, data)?))
    }

    /// The records of all uploads that have one; one that cannot be read is left alone, and said.
    fn records(&self) -> Result<Vec<Record>, StoreError> {
        let record = |id| match self.read_record(id) {
            Ok(record) => Some(record),
            Err(error) => {
                tracing::warn!("the record of the upload {id} cannot be read: {error}");
                None
            }
        };
        Ok(self.ids()?.into_iter().filter_map(record).collect())
    }
}

impl Store for DiskStore {
    fn create(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError> {
        self.create_with(upload, |_| Ok(()))
    }

    fn open(&self, id: UploadId) -> Result<Box<dyn StoredUpload>, StoreError> {
        let record = self.read_record(id)?;
        if let Some(gone) = record.gone {
            return Err(StoreError::Gone { since: gone.into() });
        }
        Ok(Box::new(DiskUpload::open(self.clone(), record)?))
    }

    fn abilities(&self) -> Abilities {
        Abilities { provisional: true, ranges: true }
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

impl Terminate for DiskStore {
    fn terminate(&self, id: UploadId) -> Result<(), StoreError> {
        let mut record = self.read_record(id)?;
        let finished = record.finished.take();
        let was_moved = !self.data_path(id).exists();
        record.gone = Some(UnixSeconds::now());
        // First the record: bytes without one are swept up, but a record without its bytes would be a lie.
        match self.write_record(&record, Moment::Completion) {
            // Where there is no room to say that it is gone, nothing is said of it any more.
            Err(StoreError::Full(_)) => self.files.remove(&self.record_path(id))?,
            written => written?,
        }
        self.files.remove(&self.data_path(id))?;
        match finished {
            Some(finished) if was_moved => Ok(self.files.remove(&self.directory.join(finished.name))?),
            _ => Ok(()),
        }
    }
}

impl Concatenate for DiskStore {
    fn concatenate(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError> {
        let Kind::Joined(parts) = &upload.kind else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        };
        let paths: Vec<_> = parts.iter().map(|part| self.data_path(*part)).collect();
        self.create_with(upload, |data| {
            paths.iter().try_for_each(|path| data.append_file(path).map(drop)).map_err(StoreError::from)
        })
    }
}

impl Expire for DiskStore {
    fn ids(&self) -> Result<Vec<UploadId>, StoreError> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.workshop)? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json")).map(str::parse::<UploadId>);
            ids.extend(id.and_then(Result::ok));
        }
        Ok(ids)
    }

    fn forget(&self, id: UploadId) -> Result<(), StoreError> {
        self.files.remove(&self.record_path(id))?;
        Ok(self.files.remove(&self.data_path(id))?)
    }

    fn tidy(&self, before: SystemTime) -> Result<(), StoreError> {
        for entry in fs::read_dir(&self.workshop)? {
            let path = entry?.path();
            let is_orphan = path.extension().is_some_and(|extension| extension != "json")
                && (path.extension().is_some_and(|extension| extension == "new")
                    || !path.with_extension("json").exists());
            // One that went meanwhile needs no tidying.
            let is_old = fs::metadata(&path).and_then(|data| data.modified()).is_ok_and(|at| at < before);
            if is_orphan && is_old {
                self.files.remove(&path)?;
            }
        }
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64, StoreError> {
        let length = |path: &Path| fs::metadata(path).map_or(0, |data| data.len());
        let bytes = |record: Record| {
            let finished = record.finished.map(|finished| self.directory.join(finished.name));
            length(&self.data_path(record.upload.id)) + finished.map_or(0, |path| length(&path))
        };
        Ok(self.records()?.into_iter().map(bytes).sum())
    }
}
