//! What a webhook is told.

use std::time::Instant;

use serde::Serialize;
use tayet::Request;

use crate::{Finished, UnixSeconds, Upload, UploadId};

/// Something that has happened to an upload, or is about to.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum News<'n> {
    Create { upload: Described<'n>, request: Origin },
    Progress { upload: Described<'n>, received_bytes: u64 },
    Complete { upload: Described<'n>, finished: &'n Finished },
    Terminate { upload_id: UploadId },
}

/// An upload, with what its file is called in plain text.
#[derive(Debug, Serialize)]
pub(crate) struct Described<'n> {
    #[serde(flatten)]
    upload: &'n Upload,
    file_name: Option<&'n str>,
}

impl<'n> From<&'n Upload> for Described<'n> {
    fn from(upload: &'n Upload) -> Self {
        Self { upload, file_name: upload.metadata.file_name() }
    }
}

/// The request by which an upload is created.
#[derive(Debug, Serialize)]
pub(crate) struct Origin {
    method: String,
    path: String,
    remote: String,
}

impl Origin {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: request.method().to_string(),
            path: request.path().to_owned(),
            remote: request.remote_addr().to_string(),
        }
    }
}

/// News on their way: once written they stay the same, however often they are sent.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: UploadId,
    pub(crate) body: Vec<u8>,
    pub(crate) since: Instant,
}

#[derive(Serialize)]
struct Written<'n> {
    id: UploadId,
    at: UnixSeconds,
    #[serde(flatten)]
    news: &'n News<'n>,
}

impl Event {
    /// # Errors
    ///
    /// When the system has no randomness for its name.
    pub(crate) fn new(news: &News<'_>) -> std::io::Result<Self> {
        let id = UploadId::random()?;
        let body = serde_json::to_vec(&Written { id, at: UnixSeconds::now(), news })?;
        Ok(Self { id, body, since: Instant::now() })
    }
}
