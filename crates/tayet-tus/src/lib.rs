//! Large uploads that survive lost connections, restarts and full disks.
//!
//! [`Uploads`] is nested into a router and answers, below its prefix, whatever an upload may come by:
//!
//! | protocol | by what it is known | resumed by |
//! | --- | --- | --- |
//! | tus 1.0.0, with every extension | `Tus-Resumable: 1.0.0` | `HEAD`, then `PATCH` at `Upload-Offset` |
//! | the IETF's draft "Resumable Uploads for HTTP", interop versions 3, 5, 6 and 8 | `Upload-Draft-Interop-Version` | the same |
//! | ranges, in any order and in parallel | `Content-Range: bytes a-b/total` in `POST`, `PUT`, `PATCH` | `HEAD`, whose `Range` says what has come |
//! | a multipart form | its `Content-Type` | - |
//! | a file by its name: `curl -T FILE .../files/` | `PUT` | - |
//!
//! ```no_run
//! use tayet::{Router, Server};
//! use tayet_tus::Uploads;
//!
//! fn main() -> tayet::Result {
//!     let app = Router::new().nest("/files", Uploads::new("uploads")?);
//!     Server::new(app).bind("127.0.0.1:8080")?.run()
//! }
//! ```
//!
//! All of them write into one [`Store`]: by default a directory ([`DiskStore`]), in which a finished file has the name that its
//! client gave it, and never that of another. What a store may be able to do beside the necessary is a trait of its own in
//! [`store`]: a store without [`store::Concatenate`], say, is announced without that extension.
//!
//! # Who writes
//!
//! A request that writes to an upload holds a ticket, and shows it with each piece that it writes. A new request takes the
//! ticket over when the old one has been silent for [`UploadLimits::takeover_silence_ms`], or at once when its client has asked
//! for the offset: a connection that died without a word keeps nobody waiting, and can never write behind the back of the next
//! one. One that is alive is not disturbed; the other gets a 423.
//!
//! # Not here yet
//!
//! The draft lets a length that has been reached be unfinished until the client says so; here it is finished then.

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
mod progress_pace;
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
mod webhook;
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
pub use webhook::{InvalidWebhook, MIN_WEBHOOK_SECRET_BYTES, Webhook, WebhookLimits, WebhookSignature};
