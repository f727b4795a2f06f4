//! Resumable Uploads for HTTP, the draft of the IETF's HTTP working group (draft-ietf-httpbis-resumable-upload): interop
//! versions 3, 5, 6 and 8.

use serde_json::json;
use tayet::http::header;
use tayet::{BodyError, HeaderValue, IntoResponse, Method, Request, Response, StatusCode};

use super::resumption::Resumption;
use crate::active::{Lease, Session};
use crate::asked::{Target, collection_path};
use crate::fields::{boolean, has_body, http_date, is_media_type, number, parameter, set};
use crate::hooks::Action;
use crate::upload_error::UploadError;
use crate::wanted_checksum::WantedChecksum;
use crate::workshop::{Status, Workshop};
use crate::{Kind, Metadata, Upload};

/// The type of what is appended, from interop version 6 on.
pub(crate) const MEDIA_TYPE: &str = "application/partial-upload";

const INCONSISTENT_LENGTH: &str =
    "https://iana.org/assignments/http-problem-types#inconsistent-upload-length";
const MISMATCHING_OFFSET: &str = "https://iana.org/assignments/http-problem-types#mismatching-upload-offset";
/// What says that uploads can be resumed where nothing limits them.
const NO_LIMIT: &str = "min-size=0";
const OTHER_LENGTH: &str = "the upload's length is another than was said before";

/// A state of the draft that clients were built for, as `Upload-Draft-Interop-Version` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InteropVersion {
    /// Draft 01: `Upload-Incomplete`.
    V3,
    /// Draft 03: `Upload-Complete`.
    V5,
    /// Drafts 04 and 05: `application/partial-upload`, `Upload-Limit`.
    V6,
    /// Drafts from 08 on.
    V8,
}

impl InteropVersion {
    pub(crate) fn of(request: &Request) -> Option<Self> {
        match request.header("upload-draft-interop-version")?.trim() {
            "3" => Some(Self::V3),
            "5" => Some(Self::V5),
            "6" => Some(Self::V6),
            "8" => Some(Self::V8),
            _ => None,
        }
    }

    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::V3 => "3",
            Self::V5 => "5",
            Self::V6 => "6",
            Self::V8 => "8",
        }
    }

    /// Whether the request says that it has the upload's last bytes; `None` when it says nothing.
    fn is_last(self, request: &Request) -> Option<bool> {
        match self {
            Self::V3 => boolean(request, "upload-incomplete").map(|is_incomplete| !is_incomplete),
            _ => boolean(request, "upload-complete"),
        }
    }

    fn set_complete(self, response: &mut Response, is_complete: bool) {
        let text = |is_true| if is_true { "?1" } else { "?0" };
        match self {
            Self::V3 => set(response, "upload-incomplete", text(!is_complete)),
            _ => set(response, "upload-complete", text(is_complete)),
        }
    }
}

/// What an upload may cost, as `Upload-Limit` has it; `None` when nothing is limited.
pub(crate) fn limits(workshop: &Workshop, status: Option<&Status>) -> Option<String> {
    let max_size = workshop.limits.max_upload_bytes;
    let lifetime = status.map_or(Some(workshop.limits.lifetime_seconds), |status| {
        let left = status.expires?.duration_since(std::time::SystemTime::now());
        Some(left.map_or(0, |left| left.as_secs()))
    });
    let limits: Vec<_> = [("max-size", Some(max_size)), ("max-age", lifetime)]
        .into_iter()
        .filter_map(|(name, limit)| limit.filter(|limit| *limit > 0).map(|limit| format!("{name}={limit}")))
        .collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

/// Answers a request by this protocol.
pub(crate) fn answer(
    workshop: &Workshop,
    request: &mut Request,
    target: &Target,
    version: InteropVersion,
) -> Response {
    let method = request.method().clone();
    let answered = match method {
        Method::OPTIONS => Ok(options(workshop)),
        Method::HEAD => look(workshop, request, target, version),
        Method::DELETE => cancel(workshop, request, target),
        Method::PATCH if matches!(target, Target::Item(_)) => append(workshop, request, target, version),
        Method::POST | Method::PUT | Method::PATCH => create(workshop, request, target, version),
        _ => Err(UploadError::MethodNotAllowed),
    };
    let mut response =
        answered.unwrap_or_else(|error| refuse(workshop, &error).unwrap_or_else(|| error.into_response()));
    set(&mut response, "upload-draft-interop-version", version.number());
    response
}

/// What the draft has problem types and fields for.
fn refuse(workshop: &Workshop, error: &UploadError) -> Option<Response> {
    let problem = |kind: &str, members: serde_json::Value| {
        let mut body = json!({ "type": kind, "status": error.status().as_u16(), "title": error.to_string() });
        body.as_object_mut()?.extend(members.as_object()?.clone());
        let content_type = const { HeaderValue::from_static("application/problem+json") };
        let response = Response::of_type(content_type, body.to_string()).with_status(error.status());
        Some(response)
    };
    match error {
        UploadError::OffsetMismatch { offset } => {
            let mut response = problem(MISMATCHING_OFFSET, json!({ "expected-offset": offset }))?;
            set(&mut response, "upload-offset", offset.to_string());
            Some(response)
        }
        UploadError::Malformed(OTHER_LENGTH) => problem(INCONSISTENT_LENGTH, json!({})),
        UploadError::TooLarge => {
            let mut response = UploadError::TooLarge.into_response();
            limits(workshop, None).into_iter().for_each(|limits| set(&mut response, "upload-limit", limits));
            Some(response)
        }
        _ => None,
    }
}

fn options(workshop: &Workshop) -> Response {
    let mut response = Response::empty(StatusCode::NO_CONTENT);
    set(&mut response, "accept-patch", MEDIA_TYPE);
    set(&mut response, "upload-limit", limits(workshop, None).unwrap_or_else(|| NO_LIMIT.to_owned()));
    response
}

/// Any `POST` or `PUT` that says whether it has all there is.
fn create(
    workshop: &Workshop,
    request: &mut Request,
    target: &Target,
    version: InteropVersion,
) -> Result<Response, UploadError> {
    workshop.authorize(request, Action::Create)?;
    let is_last = version.is_last(request);
    let is_last = is_last.ok_or(UploadError::Malformed("the request does not say whether it is complete"))?;
    let length = said_length(request, 0, is_last)?;
    let upload = Upload::new(Kind::Sequence, length, metadata(request, target))?;
    let intake = workshop.intake(request)?;
    let session = workshop.create(upload, request)?;
    let location = format!("{}/{}", collection_path(request, target), session.id());
    let mut body = request.take_body();
    let mut resumption = Resumption::new(request, version);
    if !body.is_whole() {
        let limits = limits_said(workshop, &workshop.status(&session)?, version);
        resumption.announce(&location, limits.as_deref());
    }
    let lease = workshop.lease(&session)?;
    let report = &mut |offset| resumption.report(offset);
    match intake.append_reporting(&lease, &mut body, &WantedChecksum::None, report) {
        Ok(()) => complete(workshop, &session, &lease, is_last)?,
        // The client learns where to go on if it still listens.
        Err(UploadError::Body(BodyError::Disconnected | BodyError::TooSlow)) => {}
        Err(error) => {
            drop(lease);
            workshop.discard(&session);
            return Err(error);
        }
    }
    let status = workshop.status(&session)?;
    let mut response = described(workshop, &status, version).with_status(StatusCode::CREATED);
    set(&mut response, "location", location);
    Ok(response)
}

/// What the request says of the file.
fn metadata(request: &Request, target: &Target) -> Metadata {
    let name = request.header("content-disposition").and_then(|value| parameter(value, "filename"));
    let put = match target {
        Target::Item(name) if *request.method() == Method::PUT => Some(name.clone()),
        _ => None,
    };
    let metadata = name.or(put).map_or_else(Metadata::default, |name| Metadata::with_file_name(&name));
    match request.header("content-type") {
        Some(media_type) => metadata.with("filetype", media_type),
        None => metadata,
    }
}

/// The upload's length, as far as a request at this offset says it.
fn said_length(request: &Request, offset: u64, is_last: bool) -> Result<Option<u64>, UploadError> {
    let declared = number(request, "upload-length", "Upload-Length must be a number")?;
    let implied = request.content_length().filter(|_| is_last).and_then(|rest| offset.checked_add(rest));
    match (declared, implied) {
        (Some(declared), Some(implied)) if declared != implied => Err(UploadError::Malformed(OTHER_LENGTH)),
        (declared, implied) => Ok(declared.or(implied)),
    }
}

/// Finishes an upload whose length is reached, or whose last bytes these were.
fn complete(
    workshop: &Workshop,
    session: &Session,
    lease: &Lease<'_>,
    is_last: bool,
) -> Result<(), UploadError> {
    if is_last {
        lease.with(|stored| match stored.upload().length {
            None => stored.set_length(stored.offset()),
            Some(_) => Ok(()),
        })?;
        let status = workshop.status(session)?;
        if status.upload.length != Some(status.offset) {
            return Err(UploadError::Malformed(OTHER_LENGTH));
        }
    }
    workshop.finish(session)
}

fn look(
    workshop: &Workshop,
    request: &Request,
    target: &Target,
    version: InteropVersion,
) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Look(id))?;
    let (session, _) = workshop.open(id)?;
    // "The server ... SHOULD terminate" what still writes: the offset must stay what it is now.
    session.fence();
    Ok(described(workshop, &workshop.status(&session)?, version))
}

fn append(
    workshop: &Workshop,
    request: &mut Request,
    target: &Target,
    version: InteropVersion,
) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Write(id))?;
    if version >= InteropVersion::V6 && !is_media_type(request, MEDIA_TYPE) {
        return Err(UploadError::MediaType(MEDIA_TYPE));
    }
    let offset = number(request, "upload-offset", "Upload-Offset must be a number")?;
    let offset = offset.ok_or(UploadError::Malformed("Upload-Offset is missing"))?;
    let is_last = version.is_last(request);
    let is_last = is_last.ok_or(UploadError::Malformed("the request does not say whether it is complete"))?;
    let (session, status) = workshop.open(id)?;
    if status.upload.kind != Kind::Sequence {
        return Err(UploadError::Conflict("this upload does not come as a sequence"));
    }
    let intake = workshop.intake(request)?;
    // A client has one request at a time: what still writes is its own, left behind.
    session.fence();
    let lease = workshop.lease(&session)?;
    let status = workshop.status(&session)?;
    if status.offset != offset {
        return Err(UploadError::OffsetMismatch { offset: status.offset });
    }
    learn_length(workshop, &lease, &status, said_length(request, offset, is_last)?)?;
    if has_body(request) {
        let mut body = request.take_body();
        let mut resumption = Resumption::new(request, version);
        let report = &mut |offset| resumption.report(offset);
        let received = intake.append_reporting(&lease, &mut body, &WantedChecksum::None, report);
        received.map_err(|error| if_too_long(error, &status))?;
    }
    complete(workshop, &session, &lease, is_last)?;
    let status = workshop.status(&session)?;
    let code = if status.finished.is_some() { StatusCode::OK } else { StatusCode::NO_CONTENT };
    Ok(described(workshop, &status, version).with_status(code))
}

fn learn_length(
    workshop: &Workshop,
    lease: &Lease<'_>,
    status: &Status,
    said: Option<u64>,
) -> Result<(), UploadError> {
    match (status.upload.length, said) {
        (_, None) => Ok(()),
        (Some(known), Some(said)) if known == said => Ok(()),
        (Some(_), Some(_)) => Err(UploadError::Malformed(OTHER_LENGTH)),
        (None, Some(said)) if said < status.offset => Err(UploadError::Malformed(OTHER_LENGTH)),
        (None, Some(said)) => {
            workshop.check_length(said)?;
            Ok(lease.with(|stored| stored.set_length(said))?)
        }
    }
}

/// More than the length that was said is a contradiction, and not a file that is too large.
fn if_too_long(error: UploadError, status: &Status) -> UploadError {
    match error {
        UploadError::TooLarge if status.upload.length.is_some() => UploadError::Malformed(OTHER_LENGTH),
        error => error,
    }
}

fn cancel(workshop: &Workshop, request: &Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Terminate(id))?;
    let (session, _) = workshop.open(id)?;
    workshop.terminate(&session)?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// What an upload may cost, as far as this version has a field for it.
fn limits_said(workshop: &Workshop, status: &Status, version: InteropVersion) -> Option<String> {
    limits(workshop, Some(status)).filter(|_| version >= InteropVersion::V6)
}

fn described(workshop: &Workshop, status: &Status, version: InteropVersion) -> Response {
    let mut response = Response::empty(StatusCode::NO_CONTENT);
    set(&mut response, "upload-offset", status.offset.to_string());
    version.set_complete(&mut response, status.finished.is_some());
    if let Some(length) = status.upload.length {
        set(&mut response, "upload-length", length.to_string());
    }
    if let Some(limits) = limits_said(workshop, status, version) {
        set(&mut response, "upload-limit", limits);
    }
    if let Some(expires) = status.expires {
        set(&mut response, "upload-expires", http_date(expires));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
