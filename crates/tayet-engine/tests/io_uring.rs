//! The engine over io_uring: the same tests as over epoll. Where the kernel refuses io_uring they say so, and run on epoll.
#![expect(clippy::duplicate_mod, reason = "each of the files names the sample as its own")]

#[path = "downloads.rs"]
mod downloads;
#[path = "limits.rs"]
mod limits;
#[path = "serving.rs"]
mod serving;
#[path = "uploads.rs"]
mod uploads;
