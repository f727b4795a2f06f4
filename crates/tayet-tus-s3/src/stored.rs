//! An open upload of a bucket.

use std::io;
use std::time::SystemTime;

use tayet_tus::store::Provisional;
use tayet_tus::{Finished, Kind, StoreError, StoredUpload, UnixSeconds, Upload};

use crate::bucket::Part;
use crate::client::Payload;
use crate::gathered::Gathered;
use crate::limits::MAX_PARTS;
use crate::record::Record;
use crate::store::{S3Store, file_name};
use crate::xml::ListedPart;

/// An open upload: parts that the bucket has, and an end that is too short to be one.
pub(crate) struct BucketUpload {
    store: S3Store,
    record: Record,
    /// The parts that count, in their order.
    parts: Vec<Part>,
    end: End,
    /// The bucket may have ends, of the next part or of those before.
    may_have_ends: bool,
    /// Of which the checksum is still to be found right: what is behind this.
    verified: Option<Verified>,
    /// The parts that the bucket may have, wrong ones included.
    sent_parts: usize,
    /// All of it is one object, which the record does not say yet.
    is_assembled: bool,
    last_activity: SystemTime,
}

/// What has come of the next part.
#[derive(Debug, Default)]
struct End {
    /// `None` when there is nothing, or what there is has not been fetched.
    gathered: Option<Gathered>,
    bytes: u64,
    /// What the bucket has of it.
    saved_bytes: u64,
}

/// Where an upload was before bytes came whose checksum is to be found right.
#[derive(Clone, Copy, Debug)]
struct Verified {
    parts: usize,
    end_bytes: u64,
}

impl BucketUpload {
    pub(crate) fn new(store: S3Store, record: Record) -> Self {
        Self::with_parts(store, record, Vec::new())
    }

    /// One of which the bucket has these parts.
    pub(crate) fn with_parts(store: S3Store, record: Record, parts: Vec<Part>) -> Self {
        let last_activity = SystemTime::now();
        let sent_parts = parts.len();
        Self {
            store,
            record,
            parts,
            end: End::default(),
            may_have_ends: false,
            verified: None,
            sent_parts,
            is_assembled: false,
            last_activity,
        }
    }

    /// Opens it as a crash may have left it.
    pub(crate) fn open(store: S3Store, record: Record) -> Result<Self, StoreError> {
        let mut upload = Self::new(store, record);
        upload.last_activity = upload.record.upload.created.into();
        if let Some(finished) = &upload.record.finished {
            upload.last_activity = finished.at.into();
        } else {
            // Among them one of a part that was sent just before a crash.
            upload.may_have_ends = true;
            upload.find_parts()?;
        }
        if upload.record.finished.is_none() && !upload.is_assembled {
            upload.find_end()?;
        }
        Ok(upload)
    }

    fn find_parts(&mut self) -> Result<(), StoreError> {
        let Some(multipart) = &self.record.multipart else { return Ok(()) };
        let key = self.key();
        let listed = self.store.bucket().parts(&key, multipart)?;
        let is_known = listed.is_some();
        let listed = listed.unwrap_or_default();
        if listed.is_empty() {
            // It was completed, and then there was a crash. Or it was removed by somebody else: it begins anew.
            let length = self.record.upload.length;
            self.is_assembled = length.is_some() && self.store.bucket().length(&key)? == length;
            if !is_known && !self.is_assembled {
                self.record.multipart = None;
                self.record.counted_parts = None;
            }
        }
        self.sent_parts = listed.last().map_or(0, |part| part.part_number);
        let last_modified = listed.iter().filter_map(|part| Some(part.last_modified?.0)).max();
        self.touch(last_modified);
        self.parts = counted(listed, self.record.counted_parts);
        Ok(())
    }

    fn find_end(&mut self) -> Result<(), StoreError> {
        let (id, number) = (self.record.upload.id, self.next_part());
        if let Some(end) = self.store.bucket().find_end(id, number)? {
            self.touch(end.last_modified);
            self.end.bytes = end.bytes;
            self.end.saved_bytes = end.bytes;
        }
        Ok(())
    }

    fn touch(&mut self, at: Option<SystemTime>) {
        self.last_activity = at.map_or(self.last_activity, |at| at.max(self.last_activity));
    }

    fn key(&self) -> String {
        self.store.object_key(&self.record.upload)
    }

    /// Its number, from 1.
    fn next_part(&self) -> usize {
        self.parts.len() + 1
    }

    /// Of the first so many parts.
    fn bytes_of(&self, parts: usize) -> u64 {
        self.parts.iter().take(parts).map(|part| part.bytes).sum()
    }

    /// What has come of the next part, here.
    fn gathered(&mut self) -> Result<&mut Gathered, StoreError> {
        if self.end.gathered.is_none() {
            let number = self.next_part();
            let mut gathered = Gathered::new(self.store.workshop())?;
            if self.end.bytes > 0 {
                self.store.bucket().read_end(self.record.upload.id, number, &mut gathered)?;
                if gathered.bytes() != self.end.bytes {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the end of an upload has changed",
                    )
                    .into());
                }
            }
            self.end.gathered = Some(gathered);
        }
        Ok(self.end.gathered.as_mut().expect("it has just been put there"))
    }

    fn gather(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.gathered()?.append(bytes)?;
        self.end.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Sends what has been gathered as the next part.
    fn send_part(&mut self) -> Result<(), StoreError> {
        if self.parts.len() == MAX_PARTS {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "an object has no more parts").into());
        }
        let (key, number) = (self.key(), self.next_part());
        let multipart = self.multipart(&key)?;
        if self.verified.is_some() && self.record.counted_parts.is_none() {
            self.count_parts(Some(self.parts.len()))?;
        }
        self.gathered()?;
        let gathered = self.end.gathered.as_ref().expect("it is here now");
        let part = self.store.bucket().put_part(&key, &multipart, number, gathered)?;
        self.sent_parts = self.sent_parts.max(number);
        if self.verified.is_none() && self.record.counted_parts.is_some() {
            self.count_parts((number < self.sent_parts).then_some(number))?;
        }
        self.parts.push(part);
        let had_end = self.end.saved_bytes > 0;
        self.end.start_next();
        // What is not verified may have to be taken back to it.
        if had_end && self.verified.is_none() {
            self.drop_end(number);
        }
        Ok(())
    }

    /// Removes the end of a part that has been sent. It would never count again, but is as long as almost a part.
    fn drop_end(&self, number: usize) {
        if let Err(failure) = self.store.bucket().delete_end(self.record.upload.id, number) {
            tracing::warn!(
                "what a bucket had of a part that is sent stays until the upload is finished: {failure}"
            );
        }
    }

    /// The multipart upload, begun if there is none.
    fn multipart(&mut self, key: &str) -> Result<String, StoreError> {
        if let Some(multipart) = &self.record.multipart {
            return Ok(multipart.clone());
        }
        let multipart = self.store.bucket().begin_multipart(key)?;
        self.record.multipart = Some(multipart.clone());
        if let Err(error) = self.store.write_record(&self.record) {
            self.record.multipart = None;
            let _ = self.store.bucket().abort_multipart(key, &multipart);
            return Err(error);
        }
        Ok(multipart)
    }

    fn count_parts(&mut self, counted: Option<usize>) -> Result<(), StoreError> {
        let before = std::mem::replace(&mut self.record.counted_parts, counted);
        self.store.write_record(&self.record).inspect_err(|_| self.record.counted_parts = before)
    }

    /// Goes back to what the bucket has. What was gathered and could not be sent may be too much to keep.
    fn fall_back(&mut self) {
        if let Some(verified) = self.verified {
            self.parts.truncate(verified.parts);
            self.end.saved_bytes = verified.end_bytes;
        }
        self.end.gathered = None;
        self.end.bytes = self.end.saved_bytes;
    }

    fn is_whole(&self) -> bool {
        self.record.upload.length == Some(self.offset())
    }

    /// Makes one object of it.
    fn assemble(&mut self) -> Result<(), StoreError> {
        let (key, length) = (self.key(), self.offset());
        if self.record.multipart.is_none() {
            self.gathered()?;
            let payload = self.end.gathered.as_ref().map_or(Payload::Bytes(&[]), Gathered::payload);
            self.store.bucket().put(&key, payload)?;
        } else {
            if self.end.bytes > 0 {
                self.send_part()?;
            }
            let multipart = self.multipart(&key)?;
            self.store.bucket().complete_multipart(&key, &multipart, &self.parts, length)?;
        }
        self.is_assembled = true;
        Ok(())
    }

    /// Makes one object of it, if that is not done, and remembers it.
    fn complete(&mut self) -> Result<(), StoreError> {
        if !self.is_assembled {
            self.assemble()?;
        }
        let upload = &self.record.upload;
        self.record.finished = Some(Finished {
            name: file_name(upload),
            length: upload.length.unwrap_or_default(),
            sha256: None,
            at: UnixSeconds::now(),
        });
        self.store.write_record(&self.record).inspect_err(|_| self.record.finished = None)?;
        if self.may_have_ends
            && let Err(error) = self.store.bucket().delete_ends(self.record.upload.id)
        {
            tracing::warn!("what is left of a finished upload stays until it is forgotten: {error}");
        }
        Ok(())
    }

    fn refuse_if_finished(&self) -> Result<(), StoreError> {
        match self.record.finished {
            None if !self.is_assembled => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the upload is finished").into()),
        }
    }
}

impl End {
    fn start_next(&mut self) {
        *self = Self { gathered: self.gathered.take(), ..Self::default() };
        if let Some(gathered) = &mut self.gathered {
            gathered.truncate(0);
        }
    }
}

/// The parts that count: those without a gap, as many as are right.
fn counted(listed: Vec<ListedPart>, counted_parts: Option<usize>) -> Vec<Part> {
    listed
        .into_iter()
        .take(counted_parts.unwrap_or(MAX_PARTS))
        .enumerate()
        .take_while(|(index, part)| part.part_number == index + 1)
        .map(|(_, part)| Part { bytes: part.size, etag: part.etag })
        .collect()
}

impl StoredUpload for BucketUpload {
    fn upload(&self) -> &Upload {
        &self.record.upload
    }

    fn offset(&self) -> u64 {
        match (&self.record.finished, self.is_assembled, self.record.upload.length) {
            (Some(finished), ..) => finished.length,
            (None, true, Some(length)) => length,
            _ => self.bytes_of(self.parts.len()) + self.end.bytes,
        }
    }

    fn kept_offset(&self) -> u64 {
        match self.verified {
            Some(verified) => self.bytes_of(verified.parts) + verified.end_bytes,
            None => self.offset() - (self.end.bytes - self.end.saved_bytes),
        }
    }

    fn finished(&self) -> Option<&Finished> {
        self.record.finished.as_ref().filter(|_| self.record.upload.kind != Kind::Part)
    }

    fn last_activity(&self) -> SystemTime {
        self.last_activity
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.refuse_if_finished()?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.record.part_bytes.saturating_sub(self.end.bytes);
            let (now, later) = rest.split_at(rest.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            let appended = self.gather(now).and_then(|()| {
                if self.end.bytes >= self.record.part_bytes { self.send_part() } else { Ok(()) }
            });
            appended.inspect_err(|_| self.fall_back())?;
            rest = later;
        }
        self.last_activity = SystemTime::now();
        Ok(())
    }

    fn set_length(&mut self, length: u64) -> Result<(), StoreError> {
        let before = self.record.upload.length.replace(length);
        self.store.write_record(&self.record).inspect_err(|_| self.record.upload.length = before)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.record.finished.is_some() || self.is_assembled || self.verified.is_some() {
            return Ok(());
        }
        if self.is_whole() {
            // Nobody finishes a part, but it must be there to be joined. Anything else is finished in a moment.
            return if self.record.upload.kind == Kind::Part { self.complete() } else { Ok(()) };
        }
        if self.end.bytes == self.end.saved_bytes {
            return Ok(());
        }
        let (id, number) = (self.record.upload.id, self.next_part());
        let Some(gathered) = &self.end.gathered else { return Ok(()) };
        self.may_have_ends = true;
        if let Err(failure) = self.store.bucket().write_end(id, number, gathered) {
            self.fall_back();
            return Err(failure.into());
        }
        self.end.saved_bytes = self.end.bytes;
        Ok(())
    }

    fn finish(&mut self) -> Result<&Finished, StoreError> {
        if self.record.finished.is_none() {
            self.complete().inspect_err(|_| self.fall_back())?;
        }
        self.record.finished.as_ref().ok_or(StoreError::NotFound)
    }

    fn provisional(&mut self) -> Option<&mut dyn Provisional> {
        Some(self)
    }
}

impl Provisional for BucketUpload {
    fn begin(&mut self) -> Result<(), StoreError> {
        self.refuse_if_finished()?;
        // What is right must be in the bucket before it may have to be gone back to.
        self.discard()?;
        self.flush()?;
        self.verified = Some(Verified { parts: self.parts.len(), end_bytes: self.end.saved_bytes });
        Ok(())
    }

    fn keep(&mut self) -> Result<(), StoreError> {
        let Some(verified) = self.verified else { return Ok(()) };
        if self.parts.len() > verified.parts {
            let counted = self.parts.len();
            self.count_parts((counted < self.sent_parts).then_some(counted))?;
            if verified.end_bytes > 0 {
                self.drop_end(verified.parts + 1);
            }
        }
        self.verified = None;
        Ok(())
    }

    fn discard(&mut self) -> Result<(), StoreError> {
        if self.verified.is_some() {
            self.fall_back();
            self.verified = None;
        }
        Ok(())
    }
}
