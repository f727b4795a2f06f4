//! Where uploads are kept: what a store must do, and what it may be able to do.

use std::fmt;
use std::io;
use std::ops::Range;
use std::time::SystemTime;

use crate::{ByteRanges, Finished, Upload, UploadId};

/// Where uploads are kept.
///
/// A store knows nothing of HTTP and of locks: the protocols call what is here, and see to it that no upload is open twice.
/// What not every store can do is a trait of its own, and a method here that returns it.
pub trait Store: Send + Sync + 'static {
    /// Makes room for an upload, and opens it.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn create(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError>;

    /// Opens an upload.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`], [`StoreError::Gone`], and others as [`StoreError`] has them.
    fn open(&self, id: UploadId) -> Result<Box<dyn StoredUpload>, StoreError>;

    /// What its uploads are able to do.
    fn abilities(&self) -> Abilities;

    /// To remove uploads, if it can.
    fn terminate(&self) -> Option<&dyn Terminate> {
        None
    }

    /// To join uploads, if it can.
    fn concatenate(&self) -> Option<&dyn Concatenate> {
        None
    }

    /// To find uploads that nobody comes back for, if it can.
    fn expire(&self) -> Option<&dyn Expire> {
        None
    }
}

/// What a store's uploads are able to do, beside what each must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// [`StoredUpload::provisional`] is there: checksums can be kept.
    pub provisional: bool,
    /// [`StoredUpload::ranges`] is there for uploads of [`Kind::Ranges`](crate::Kind::Ranges).
    pub ranges: bool,
}

/// An open upload. Only one is open for an upload at a time.
pub trait StoredUpload: Send {
    /// What is known of it.
    fn upload(&self) -> &Upload;

    /// How many bytes have come without a gap from its beginning: where the next one belongs.
    fn offset(&self) -> u64;

    /// How many of these the end of the program, whatever its reason, would not take. Default: all.
    fn kept_offset(&self) -> u64 {
        self.offset()
    }

    /// What became of it, when it is complete. Parts of others are never finished by themselves.
    fn finished(&self) -> Option<&Finished>;

    /// When something last came.
    fn last_activity(&self) -> SystemTime;

    /// Adds bytes at the offset. What fails may have added some of them; the offset says how many.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// Keeps the length that the client has now told.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn set_length(&mut self, length: u64) -> Result<(), StoreError>;

    /// Makes what came as durable as the store's policy wants it: called before an append is answered, and before another
    /// request is told the offset.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn flush(&mut self) -> Result<(), StoreError>;

    /// Puts it where finished uploads go. It has come whole. Called again after a failure or a crash.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn finish(&mut self) -> Result<&Finished, StoreError>;

    /// To take appends back, if it can.
    fn provisional(&mut self) -> Option<&mut dyn Provisional> {
        None
    }

    /// To write anywhere, if it can.
    fn ranges(&mut self) -> Option<&mut dyn WriteRanges> {
        None
    }
}

/// Appends that count only when their checksum has been found right.
pub trait Provisional {
    /// What is appended from now on does not count yet; also not after a crash.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn begin(&mut self) -> Result<(), StoreError>;

    /// What was appended since counts.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn keep(&mut self) -> Result<(), StoreError>;

    /// What was appended since is forgotten; nothing is where nothing was begun.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn discard(&mut self) -> Result<(), StoreError>;
}

/// Bytes that come in any order.
pub trait WriteRanges {
    /// Writes bytes where they belong, over what may be there. They count as received once they are marked.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StoreError>;

    /// What has come.
    fn received(&self) -> &ByteRanges;

    /// These bytes have come. After a crash some of what was last marked may be missing again.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn mark_received(&mut self, range: Range<u64>) -> Result<(), StoreError>;

    /// These bytes have not come, whatever was there; also not after a crash.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn mark_missing(&mut self, range: Range<u64>) -> Result<(), StoreError>;
}

/// Removes uploads.
pub trait Terminate {
    /// Removes an upload and its bytes, also a finished one. [`Store::open`] says [`StoreError::Gone`] from then on.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn terminate(&self, id: UploadId) -> Result<(), StoreError>;
}

/// Joins uploads.
pub trait Concatenate {
    /// Makes an upload of [`Kind::Joined`](crate::Kind::Joined) that has the bytes of its parts. They stay as they are.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn concatenate(&self, upload: Upload) -> Result<Box<dyn StoredUpload>, StoreError>;
}

/// Finds uploads that nobody comes back for.
pub trait Expire {
    /// All uploads, finished and gone ones too.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn ids(&self) -> Result<Vec<UploadId>, StoreError>;

    /// Forgets that an upload was ever there; a finished one's file stays.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn forget(&self, id: UploadId) -> Result<(), StoreError>;

    /// Removes what a crash left behind and no upload owns, if it was last touched before `before`.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn tidy(&self, before: SystemTime) -> Result<(), StoreError>;

    /// How many bytes it holds, those of finished uploads included as long as it knows them.
    ///
    /// # Errors
    ///
    /// As [`StoreError`] has them.
    fn used_bytes(&self) -> Result<u64, StoreError>;
}

/// Why a store cannot do what it is asked.
#[derive(Debug)]
pub enum StoreError {
    /// There is no such upload.
    NotFound,
    /// There was one, and it was removed.
    Gone {
        /// When.
        since: SystemTime,
    },
    /// There is no room.
    Full(io::Error),
    /// It does not answer, or has too much to do: another time it may. A client comes back.
    Unavailable(io::Error),
    /// Something else.
    Io(io::Error),
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full(error),
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such upload"),
            Self::Gone { .. } => f.write_str("the upload was removed"),
            Self::Full(error) => write!(f, "the store is full: {error}"),
            Self::Unavailable(error) => write!(f, "the store cannot be reached: {error}"),
            Self::Io(error) => write!(f, "the store failed: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotFound | Self::Gone { .. } => None,
            Self::Full(error) | Self::Unavailable(error) | Self::Io(error) => Some(error),
        }
    }
}
