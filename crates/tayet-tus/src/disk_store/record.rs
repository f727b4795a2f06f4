//! What stands in an upload's record file, beside its bytes.

use serde::{Deserialize, Serialize};

use crate::{ByteRanges, Finished, StoreError, UnixSeconds, Upload};

/// The form of record files that this version writes and reads.
const VERSION: u32 = 1;

/// What is kept of an upload beside its bytes, as JSON.
///
/// The length of a sequence's data file says how many bytes have come, so that an append writes no record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) upload: Upload,
    /// While an append is under way whose checksum is still to be found right: what counts of the data file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verified_bytes: Option<u64>,
    /// What has come of an upload in ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) received: Option<ByteRanges>,
    /// Where it goes, from just before its data file is moved there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finished: Option<Finished>,
    /// When it was removed; only the record is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gone: Option<UnixSeconds>,
}

impl Record {
    pub(super) fn new(upload: Upload) -> Self {
        let received = matches!(upload.kind, crate::Kind::Ranges).then(ByteRanges::default);
        Self { version: VERSION, upload, verified_bytes: None, received, finished: None, gone: None }
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        let record: Self = serde_json::from_slice(bytes).map_err(invalid)?;
        if record.version != VERSION {
            return Err(invalid(format!("record version {} is not {VERSION}", record.version)));
        }
        Ok(record)
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has nothing that JSON lacks")
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, error))
}
