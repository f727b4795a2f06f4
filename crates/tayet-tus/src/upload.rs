//! What is known of an upload.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Metadata, UploadId};

/// What is known of an upload from its creation on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// What it is called.
    pub id: UploadId,
    /// How many bytes it will have; `None` until the client says so.
    pub length: Option<u64>,
    /// How its bytes come.
    pub kind: Kind,
    /// What the client says about it.
    pub metadata: Metadata,
    /// When it was created.
    pub created: UnixSeconds,
}

/// How the bytes of an upload come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One after the other, each append at the end.
    Sequence,
    /// As a sequence, to be concatenated with others: `Upload-Concat: partial`.
    Part,
    /// From these parts, in this order: `Upload-Concat: final`.
    Joined(Vec<UploadId>),
    /// In ranges, in any order.
    Ranges,
}

impl Upload {
    /// A new upload.
    ///
    /// # Errors
    ///
    /// When the system has no randomness for its name.
    pub fn new(kind: Kind, length: Option<u64>, metadata: Metadata) -> std::io::Result<Self> {
        Ok(Self { id: UploadId::random()?, length, kind, metadata, created: UnixSeconds::now() })
    }
}

/// An upload that has come whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// What its file is called in the store.
    pub name: String,
    /// How many bytes it has.
    pub length: u64,
    /// Its SHA-256 as hexadecimal digits, if the store computes it.
    pub sha256: Option<String>,
    /// When it was complete.
    pub at: UnixSeconds,
}

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    /// By the system's clock.
    pub fn now() -> Self {
        Self(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs())
    }
}

impl From<UnixSeconds> for SystemTime {
    fn from(seconds: UnixSeconds) -> Self {
        Self::UNIX_EPOCH + Duration::from_secs(seconds.0)
    }
}
