//! Answering with a file.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use http::header;

use crate::{Body, Response, media_type};

/// What [`Response::file`] leaves in the response's extensions, for those who give it its header fields.
#[derive(Clone, Debug)]
pub struct ServedFile {
    /// What the open file is.
    pub metadata: Metadata,
}

impl Response {
    /// A 200 with the whole of a file as its body and the media type of its name, sent by a worker straight from the page cache
    /// ([`Body::from_file`]).
    ///
    /// # Errors
    ///
    /// When it cannot be opened, or is no regular file ([`io::ErrorKind::InvalidInput`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use tayet_engine::Response;
    ///
    /// let response = Response::file("Cargo.toml").unwrap();
    /// assert!(response.body().length() > Some(0));
    /// assert!(Response::file(".").is_err());
    /// ```
    pub fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            let detail = format!("{} is no regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, detail));
        }
        let mut response = Self::new(Body::from_file(file, 0..metadata.len()));
        response.headers_mut().insert(header::CONTENT_TYPE, media_type(path));
        response.extensions_mut().insert(ServedFile { metadata });
        Ok(response)
    }
}
