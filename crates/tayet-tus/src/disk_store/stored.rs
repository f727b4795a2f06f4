//! An open upload of the disk store.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use digest::Digest;
use sha2::Sha256;

use super::files::{DataFile, Durability, is_same_file};
use super::record::Record;
use super::{DiskStore, Moment};
use crate::checksum::hexadecimal;
use crate::file_name::{numbered, sanitised};
use crate::store::{Provisional, WriteRanges};
use crate::{ByteRanges, Finished, StoreError, StoredUpload, UnixSeconds, Upload};

/// Bytes that are marked as received before the record says so: what a crash may take back.
const MAX_UNRECORDED_BYTES: u64 = 4 * 1024 * 1024;
/// Files of one name that are told apart by a number; the next one is called by its upload.
const MAX_SAME_NAMES: u32 = 10_000;

/// An open upload: its record, and its data file until that is moved to its place.
pub(super) struct DiskUpload {
    store: DiskStore,
    record: Record,
    place: Place,
}

enum Place {
    Workshop(Workpiece),
    Finished { modified: SystemTime },
}

/// A data file that bytes are added to.
struct Workpiece {
    data: DataFile,
    /// Bytes that have come of a sequence.
    offset: u64,
    hash: FileHash,
    unrecorded_bytes: u64,
}

/// What is known of a file's hash.
enum FileHash {
    Unwanted,
    /// That of its first bytes.
    Running {
        hash: Box<Sha256>,
        hashed_bytes: u64,
    },
    /// To be taken from the disk, since not every byte was seen in its turn.
    Unknown,
}

impl DiskUpload {
    pub(super) fn new(store: DiskStore, record: Record, data: DataFile) -> Result<Self, StoreError> {
        let offset = data.length()?;
        let hash = match (store.digests, offset) {
            (false, _) => FileHash::Unwanted,
            (true, 0) => FileHash::Running { hash: Box::new(Sha256::new()), hashed_bytes: 0 },
            (true, _) => FileHash::Unknown,
        };
        let workpiece = Workpiece { data, offset, hash, unrecorded_bytes: 0 };
        Ok(Self { store, record, place: Place::Workshop(workpiece) })
    }

    /// Opens it as a crash may have left it.
    pub(super) fn open(store: DiskStore, record: Record) -> Result<Self, StoreError> {
        let data_path = store.data_path(record.upload.id);
        let mut data = match (store.files.open_data(&data_path), &record.finished) {
            (Err(error), Some(finished)) if error.kind() == io::ErrorKind::NotFound => {
                let modified = SystemTime::from(finished.at);
                return Ok(Self { store, record, place: Place::Finished { modified } });
            }
            (data, _) => data?,
        };
        if let Some(verified) = record.verified_bytes
            && data.length()? > verified
        {
            data.set_length(verified)?;
        }
        let mut upload = Self::new(store, record, data)?;
        if upload.record.finished.is_some() {
            // It was to be moved, and was not, or not to the end.
            upload.finish_move()?;
        }
        Ok(upload)
    }

    fn finish_move(&mut self) -> Result<(), StoreError> {
        let finished = self.record.finished.take();
        if let Some(finished) = finished {
            let (data_path, target) = (self.data_path(), self.store.directory.join(&finished.name));
            if is_same_file(&data_path, &target) {
                self.store.files.remove(&data_path)?;
                self.place = Place::Finished { modified: finished.at.into() };
                self.record.finished = Some(finished);
                return Ok(());
            }
        }
        self.finish().map(drop)
    }

    fn data_path(&self) -> PathBuf {
        self.store.data_path(self.record.upload.id)
    }

    fn workpiece(&mut self) -> Result<&mut Workpiece, StoreError> {
        match &mut self.place {
            Place::Workshop(workpiece) => Ok(workpiece),
            Place::Finished { .. } => {
                Err(io::Error::new(io::ErrorKind::PermissionDenied, "the upload is finished").into())
            }
        }
    }

    /// Moves the data file to a name that is free. The record says the name before the move: whether the data file is
    /// still in the workshop then tells whether the move happened.
    fn place(&mut self, mut finished: Finished) -> Result<(), StoreError> {
        let wanted = sanitised(&finished.name).unwrap_or_else(|| self.record.upload.id.to_string());
        for count in 1..=MAX_SAME_NAMES + 1 {
            finished.name = match count {
                1 => wanted.clone(),
                2..=MAX_SAME_NAMES => numbered(&wanted, count),
                _ => self.record.upload.id.to_string(),
            };
            let target = self.store.directory.join(&finished.name);
            if target.symlink_metadata().is_ok() {
                continue;
            }
            self.record.finished = Some(finished.clone());
            self.store.write_record(&self.record, Moment::Completion)?;
            match self.store.files.move_to_new(&self.data_path(), &target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return Ok(other?),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
    }

    fn save(&mut self) -> Result<(), StoreError> {
        if let Place::Workshop(workpiece) = &mut self.place {
            workpiece.unrecorded_bytes = 0;
        }
        self.store.write_record(&self.record, Moment::Append)
    }
}

impl StoredUpload for DiskUpload {
    fn upload(&self) -> &Upload {
        &self.record.upload
    }

    fn offset(&self) -> u64 {
        match (&self.place, &self.record.finished, &self.record.received) {
            (Place::Finished { .. }, Some(finished), _) => finished.length,
            (_, _, Some(received)) => received.contiguous_bytes(),
            (Place::Workshop(workpiece), ..) => workpiece.offset,
            (Place::Finished { .. }, None, None) => 0,
        }
    }

    fn finished(&self) -> Option<&Finished> {
        match self.place {
            Place::Finished { .. } => self.record.finished.as_ref(),
            Place::Workshop(_) => None,
        }
    }

    fn last_activity(&self) -> SystemTime {
        match &self.place {
            Place::Workshop(workpiece) => {
                workpiece.data.modified().unwrap_or_else(|_| self.record.upload.created.into())
            }
            Place::Finished { modified } => *modified,
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.workpiece()?.append(bytes)
    }

    fn set_length(&mut self, length: u64) -> Result<(), StoreError> {
        let before = self.record.upload.length.replace(length);
        self.save().inspect_err(|_| self.record.upload.length = before)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let durability = self.store.durability(Moment::Append);
        let Place::Workshop(workpiece) = &mut self.place else { return Ok(()) };
        if durability == Durability::Synced {
            workpiece.data.sync()?;
        }
        if workpiece.unrecorded_bytes > 0 { self.save() } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<&Finished, StoreError> {
        if let Place::Workshop(workpiece) = &mut self.place {
            let durability = self.store.durability(Moment::Completion);
            if durability == Durability::Synced {
                workpiece.data.sync()?;
            }
            let upload = &self.record.upload;
            let finished = Finished {
                name: upload.metadata.file_name().unwrap_or_default().to_owned(),
                length: workpiece.data.length()?,
                sha256: workpiece.digest()?,
                at: UnixSeconds::now(),
            };
            self.place(finished)?;
            self.place = Place::Finished { modified: SystemTime::now() };
            if durability == Durability::Synced {
                self.store.files.sync_directory(&self.store.workshop)?;
                self.store.files.sync_directory(&self.store.directory)?;
            }
        }
        self.record.finished.as_ref().ok_or(StoreError::NotFound)
    }

    fn provisional(&mut self) -> Option<&mut dyn Provisional> {
        Some(self)
    }

    fn ranges(&mut self) -> Option<&mut dyn WriteRanges> {
        match self.record.received {
            Some(_) => Some(self),
            None => None,
        }
    }
}

impl Provisional for DiskUpload {
    fn begin(&mut self) -> Result<(), StoreError> {
        self.record.verified_bytes = Some(self.workpiece()?.offset);
        self.save()
    }

    fn keep(&mut self) -> Result<(), StoreError> {
        let verified = self.record.verified_bytes.take();
        self.save().inspect_err(|_| self.record.verified_bytes = verified)
    }

    fn discard(&mut self) -> Result<(), StoreError> {
        let Some(verified) = self.record.verified_bytes else { return Ok(()) };
        let workpiece = self.workpiece()?;
        workpiece.data.set_length(verified)?;
        workpiece.offset = verified;
        workpiece.hash.lose();
        self.keep()
    }
}

impl WriteRanges for DiskUpload {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let workpiece = self.workpiece()?;
        workpiece.hash.lose();
        let mut written = 0;
        while written < bytes.len() {
            written += workpiece.data.write_some(offset + written as u64, &bytes[written..])?;
        }
        Ok(())
    }

    fn received(&self) -> &ByteRanges {
        static NOTHING: ByteRanges = ByteRanges::NOTHING;
        self.record.received.as_ref().unwrap_or(&NOTHING)
    }

    fn mark_received(&mut self, range: Range<u64>) -> Result<(), StoreError> {
        let marked_bytes = range.end - range.start;
        self.record.received.get_or_insert_default().insert(range);
        let workpiece = self.workpiece()?;
        workpiece.unrecorded_bytes += marked_bytes;
        if workpiece.unrecorded_bytes >= MAX_UNRECORDED_BYTES { self.flush() } else { Ok(()) }
    }

    fn mark_missing(&mut self, range: Range<u64>) -> Result<(), StoreError> {
        let received = self.record.received.get_or_insert_default();
        let before = received.clone();
        received.remove(range);
        if *received == before { Ok(()) } else { self.save() }
    }
}

impl Workpiece {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self.data.write_some(self.offset, rest)?;
            let (written, left) = rest.split_at(count);
            if let FileHash::Running { hash, hashed_bytes } = &mut self.hash {
                hash.update(written);
                *hashed_bytes += count as u64;
            }
            self.offset += count as u64;
            rest = left;
        }
        Ok(())
    }

    /// The file's hash, if that is wanted: the running one when it saw every byte, else of what lies on the disk.
    fn digest(&mut self) -> Result<Option<String>, StoreError> {
        let length = self.data.length()?;
        let hash = match std::mem::replace(&mut self.hash, FileHash::Unknown) {
            FileHash::Unwanted => {
                self.hash = FileHash::Unwanted;
                return Ok(None);
            }
            FileHash::Running { hash, hashed_bytes } if hashed_bytes == length => *hash,
            FileHash::Running { .. } | FileHash::Unknown => {
                let mut hash = Sha256::new();
                self.data.read_through(|part| hash.update(part))?;
                hash
            }
        };
        Ok(Some(hexadecimal(&hash.finalize())))
    }
}

impl FileHash {
    fn lose(&mut self) {
        if !matches!(self, Self::Unwanted) {
            *self = Self::Unknown;
        }
    }
}
