//! Resumable uploads: tus 1.0, the IETF draft, ranges and plain ones, into one store.

mod active;
mod asked;
mod byte_ranges;
mod checksum;
mod clients;
mod disk_store;
mod fields;
mod file_name;
mod hooks;
mod intake;
mod limits;
mod metadata;
mod multipart;
mod protocol;
mod stats;
mod stats_collector;
pub mod store;
mod sweeper;
mod token_bucket;
mod upload;
mod upload_error;
mod upload_id;
mod uploads;
mod wanted_checksum;
mod workshop;

pub use byte_ranges::ByteRanges;
pub use disk_store::{DiskStore, Fsync};
pub use hooks::Action;
pub use limits::UploadLimits;
pub use metadata::{InvalidMetadata, MAX_METADATA_BYTES, Metadata};
pub use stats::{Listed, UploadStats};
pub use store::{Store, StoreError, StoredUpload};
pub use upload::{Finished, Kind, UnixSeconds, Upload};
pub use upload_id::{InvalidUploadId, UploadId};
pub use uploads::Uploads;
