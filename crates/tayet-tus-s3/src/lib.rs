//! A [`Store`](tayet_tus::Store) of resumable uploads in a bucket of Amazon S3, or of whatever speaks as it does.
//!
//! ```no_run
//! use tayet::{Router, Server};
//! use tayet_tus::Uploads;
//! use tayet_tus_s3::{S3Config, S3Store};
//!
//! fn main() -> tayet::Result {
//!     // Who it is and where the bucket is, the usual variables of the environment say.
//!     let store = S3Store::new(S3Config::from_environment("cloth").prefix("incoming"))?;
//!     let app = Router::new().nest("/files", Uploads::with_store(store));
//!     Server::new(app).bind("127.0.0.1:8080")?.run()
//! }
//! ```
//!
//! # What lies where
//!
//! | object | what it is |
//! | --- | --- |
//! | `PREFIX/ID/NAME` | a finished upload, by the name that its client gave it; no other upload ever has this key |
//! | `PREFIX/.uploads/ID.json` | what is known of an upload |
//! | `PREFIX/.uploads/ID.N.part` | the end of an unfinished upload, as long as it is too short to be its part N |
//! | `PREFIX/.uploads/ID.bytes` | a part of a concatenation (tus: `Upload-Concat: partial`) |
//!
//! The bytes of an upload are gathered in a nameless file of the local disk until they are a part of
//! [`S3Limits::part_bytes`]; then they go to the bucket. So memory is the same for one upload and for a thousand, and the
//! local disk holds at most one part for each. When a request ends, or another asks for the offset, the rest goes to the
//! bucket too. A client therefore does best to send much in one request: each that ends in the middle of a part costs
//! writing, and then reading again, of what there is of it.
//!
//! After a crash the offset is what the bucket has: of a request that was under way, the parts that were sent. An upload is
//! resumable from any machine, but two servers must not write to one prefix at the same time: who may write to an upload is
//! known only to the server that is asked.
//!
//! # What it cannot do
//!
//! Uploads in ranges: a bucket takes nothing in the middle of a part. They are answered 501, and the tus extensions that
//! are announced are all but none: checksums, termination, expiration and concatenation work, the last without the bytes
//! coming here when every part but the last has 5 MiB. There is no SHA-256 of what is finished.
//!
//! A crash just after a multipart upload was begun leaves one that nobody knows. A rule of the bucket that ends incomplete
//! multipart uploads after some days removes it.

mod bucket;
mod client;
mod config;
mod credentials;
mod failure;
mod gathered;
mod limits;
mod record;
mod store;
mod stored;
mod xml;

pub use config::{InvalidS3Config, S3Config};
pub use credentials::S3Credentials;
pub use limits::S3Limits;
pub use store::S3Store;
