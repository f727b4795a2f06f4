//! What is known of an upload beside its bytes.

use serde::{Deserialize, Serialize};
use tayet_tus::{Finished, StoreError, UnixSeconds, Upload};

/// The form of records that this version writes and reads.
const VERSION: u32 = 1;

/// What is kept of an upload beside its bytes, as JSON.
///
/// The parts that the bucket has say how much has come, so that an append writes no record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) upload: Upload,
    /// Bytes of each part that is sent, but for the last.
    pub(crate) part_bytes: u64,
    /// The multipart upload, once there is one; small uploads have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) multipart: Option<String>,
    /// How many of the parts that the bucket has are right, if not all: behind them are some whose checksum was wrong, or
    /// is still to be found right. They cannot be removed, but written over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counted_parts: Option<usize>,
    /// What became of it, when all of it is one object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished: Option<Finished>,
    /// When it was removed; only the record is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<UnixSeconds>,
}

impl Record {
    pub(crate) fn new(upload: Upload, part_bytes: u64) -> Self {
        Self {
            version: VERSION,
            upload,
            part_bytes,
            multipart: None,
            counted_parts: None,
            finished: None,
            gone: None,
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        let record: Self = serde_json::from_slice(bytes).map_err(invalid)?;
        if record.version != VERSION {
            return Err(invalid(format!("record version {} is not {VERSION}", record.version)));
        }
        Ok(record)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has nothing that JSON lacks")
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error))
}
