//! Which upload a request is about, and by which protocol it asks.

use tayet::{Method, Request};

use crate::fields::is_media_type;
use crate::upload_error::UploadError;
use crate::{UploadId, protocol::ietf::InteropVersion};

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// All uploads: where new ones are made.
    Collection,
    /// What stands behind the collection's path: an upload's name, or that of a file that is put there.
    Item(String),
}

/// How a request is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tus,
    Ietf(InteropVersion),
    Range,
    Form,
    Put,
}

impl Target {
    /// The upload that is named.
    pub(crate) fn upload(&self) -> Result<UploadId, UploadError> {
        match self {
            Self::Collection => Err(UploadError::MethodNotAllowed),
            Self::Item(name) => name.parse().map_err(|_| UploadError::NotFound),
        }
    }
}

impl Protocol {
    /// By the fields that each protocol has of its own.
    pub(crate) fn of(request: &Request, target: &Target) -> Self {
        let has = |name| request.headers().contains_key(name);
        if let Some(version) = InteropVersion::of(request) {
            return Self::Ietf(version);
        }
        if has("tus-resumable") || has("x-http-method-override") || has("upload-offset") {
            return Self::Tus;
        }
        let method = request.method();
        if has("content-range") {
            return Self::Range;
        }
        if *method == Method::POST && is_media_type(request, "multipart/form-data") {
            return Self::Form;
        }
        if *method == Method::PUT && matches!(target, Target::Item(_)) {
            return Self::Put;
        }
        if *method == Method::HEAD || *method == Method::DELETE { Self::Range } else { Self::Tus }
    }
}

/// The path of the collection, as the request names it.
pub(crate) fn collection_path<'r>(request: &'r Request, target: &Target) -> &'r str {
    let path = request.path();
    let collection = match target {
        Target::Collection => path,
        Target::Item(_) => path.rsplit_once('/').map_or("", |(collection, _)| collection),
    };
    collection.trim_end_matches('/')
}
