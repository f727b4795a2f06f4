//! Large uploads that survive a lost connection and a restart, with a say of the application's own.
//!
//! Files go to `uploads/`. Any client of tus 1.0 can send them, and so can `curl -T`.
//!
//! ```console
//! $ cargo run -p tayet-tus --example 30_resumable_uploads
//! $ curl -si -X POST -H 'Tus-Resumable: 1.0.0' -H 'Upload-Length: 5' http://127.0.0.1:8080/files
//! HTTP/1.1 201 Created
//! ...
//! $ curl -s -T cloth.txt http://127.0.0.1:8080/files/
//! {"id":"...","name":"cloth.txt",...}
//! ```

use tayet::{Error, Request, Router, Server, StatusCode};
use tayet_tus::{DiskStore, Fsync, Upload, UploadLimits, Uploads};

/// Is asked before an upload begins.
fn only_what_is_wanted(upload: &Upload, _: &Request) -> tayet::Result {
    match upload.metadata.file_name() {
        Some(name) if name.ends_with(".exe") => Err(Error::new(StatusCode::FORBIDDEN, "no programs, please")),
        _ => Ok(()),
    }
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    let store = DiskStore::new("uploads")?.fsync(Fsync::OnComplete).digests();
    let limits = UploadLimits { max_upload_bytes: 50 * 1024 * 1024 * 1024, ..UploadLimits::default() };
    let uploads = Uploads::with_store(store)
        .limits(limits)
        .on_create(only_what_is_wanted)
        .on_complete(|_, finished| println!("{} has come: {} bytes", finished.name, finished.length));
    println!("http://127.0.0.1:{port}/files");
    Server::new(Router::new().nest("/files", uploads)).bind(format!("127.0.0.1:{port}"))?.run()
}
