//! What becomes of [`Response::file`].

use std::sync::Arc;

use http::{Method, StatusCode, header};
use tayet_engine::ServedFile;

use super::representation::{Content, Representation};
use super::validators::{FileState, Validators};
use crate::{Request, Response};

/// Gives the answer of [`Response::file`] its validators, and answers conditions and ranges, as [`Files`](crate::Files) does. Fields
/// that the handler has set stay; with another status than 200 nothing is added.
pub(crate) fn complete(response: &mut Response, request: &Request) {
    // Few responses have extensions.
    if response.extensions().is_none() {
        return;
    }
    let Some(served) = response.extensions_mut().remove::<ServedFile>() else { return };
    if response.status() != StatusCode::OK || !matches!(*request.method(), Method::GET | Method::HEAD) {
        return;
    }
    let Some(file) = response.body().as_file().map(|(file, _)| Arc::clone(file)) else { return };
    let state = FileState::of(&served.metadata);
    let mut validators = Validators::new(&state, None);
    let fields = std::mem::take(response.headers_mut());
    if let Some(etag) = fields.get(header::ETAG) {
        validators.etag = etag.clone();
    }
    let representation = Representation::new(validators, state.size_bytes, fields);
    let content = || Ok::<_, std::convert::Infallible>(Content::Open(file));
    let Ok(answer) = representation.answer(request, content);
    *response = answer;
}
