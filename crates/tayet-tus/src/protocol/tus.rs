//! The tus resumable upload protocol 1.0.0: the core and all extensions.

use tayet::{BodyError, IntoResponse, Method, Request, Response, StatusCode};

use crate::asked::{Target, collection_path};
use crate::fields::{has_body, http_date, is_media_type, number, set};
use crate::hooks::Action;
use crate::protocol::ietf;
use crate::upload_error::UploadError;
use crate::wanted_checksum::WantedChecksum;
use crate::workshop::{Status, Workshop};
use crate::{Kind, Metadata, Upload, UploadId, checksum};

const VERSION: &str = "1.0.0";
const MEDIA_TYPE: &str = "application/offset+octet-stream";
const MALFORMED_OFFSET: &str = "Upload-Offset must be a number";
const MALFORMED_LENGTH: &str = "Upload-Length must be a number";

/// Answers a request by this protocol.
pub(crate) fn answer(workshop: &Workshop, request: &mut Request, target: &Target) -> Response {
    let method = effective_method(request);
    let answered = match method {
        Method::OPTIONS => Ok(options(workshop)),
        _ if request.header("tus-resumable") != Some(VERSION) => Err(UploadError::Version),
        Method::POST if *target == Target::Collection => create(workshop, request, target),
        Method::HEAD => look(workshop, request, target),
        Method::PATCH => append(workshop, request, target),
        Method::DELETE => terminate(workshop, request, target),
        _ => Err(UploadError::MethodNotAllowed),
    };
    let mut response = answered.unwrap_or_else(|error| refuse(error, target));
    set(&mut response, "tus-resumable", VERSION);
    if method == Method::HEAD {
        set(&mut response, "cache-control", "no-store");
    }
    response
}

fn refuse(error: UploadError, target: &Target) -> Response {
    let mut response = match error {
        UploadError::Version => {
            let mut response = UploadError::Version.into_response();
            set(&mut response, "tus-version", VERSION);
            response
        }
        error => error.into_response(),
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = match target {
            Target::Collection => "POST, OPTIONS",
            Target::Item(_) => "HEAD, PATCH, DELETE, OPTIONS",
        };
        set(&mut response, "allow", allowed);
    }
    response
}

/// That of `X-HTTP-Method-Override`, for clients whose environment knows too few methods.
fn effective_method(request: &Request) -> Method {
    let overriding = request.header("x-http-method-override");
    overriding.and_then(|name| name.parse().ok()).unwrap_or_else(|| request.method().clone())
}

fn options(workshop: &Workshop) -> Response {
    let mut response = Response::empty(StatusCode::NO_CONTENT);
    set(&mut response, "accept-patch", format!("{MEDIA_TYPE}, {}", ietf::MEDIA_TYPE));
    if let Some(limits) = ietf::limits(workshop, None) {
        set(&mut response, "upload-limit", limits);
    }
    set(&mut response, "tus-version", VERSION);
    set(&mut response, "tus-extension", extensions(workshop).join(","));
    if workshop.store.abilities().provisional {
        set(&mut response, "tus-checksum-algorithm", checksum::ALGORITHMS);
    }
    if workshop.limits.max_upload_bytes > 0 {
        set(&mut response, "tus-max-size", workshop.limits.max_upload_bytes.to_string());
    }
    response
}

fn extensions(workshop: &Workshop) -> Vec<&'static str> {
    let store = &workshop.store;
    let able = [
        ("creation", true),
        ("creation-with-upload", true),
        ("creation-defer-length", true),
        ("expiration", store.expire().is_some() && workshop.limits.lifetime_seconds > 0),
        ("checksum", store.abilities().provisional),
        ("checksum-trailer", store.abilities().provisional),
        ("termination", store.terminate().is_some()),
        ("concatenation", store.concatenate().is_some()),
    ];
    able.into_iter().filter(|(_, is_able)| *is_able).map(|(name, _)| name).collect()
}

fn create(workshop: &Workshop, request: &mut Request, target: &Target) -> Result<Response, UploadError> {
    workshop.authorize(request, Action::Create)?;
    let upload = new_upload(workshop, request)?;
    if has_body(request) && !is_media_type(request, MEDIA_TYPE) {
        return Err(UploadError::MediaType(MEDIA_TYPE));
    }
    if has_body(request) && matches!(upload.kind, Kind::Joined(_)) {
        return Err(UploadError::Forbidden("a final upload takes no bytes"));
    }
    check_body_length(request, upload.length)?;
    let wanted = WantedChecksum::of(request)?;
    let intake = has_body(request).then(|| workshop.intake(request)).transpose()?;
    let session = workshop.create(upload, request)?;
    if let Some(intake) = intake
        && let Err(error) = intake.append(&workshop.lease(&session)?, request.stream(), &wanted)
        && !is_interruption(&error)
    {
        // Its client will never learn where it is.
        workshop.discard(&session);
        return Err(error);
    }
    workshop.finish(&session)?;
    let status = workshop.status(&session)?;
    let mut response = Response::empty(StatusCode::CREATED);
    set(&mut response, "location", format!("{}/{}", collection_path(request, target), session.id()));
    set(&mut response, "upload-offset", status.offset.to_string());
    set_expires(&mut response, &status);
    Ok(response)
}

/// Whether the client may come back for the rest, if only it learns where.
fn is_interruption(error: &UploadError) -> bool {
    matches!(error, UploadError::Body(BodyError::Disconnected | BodyError::TooSlow))
}

fn new_upload(workshop: &Workshop, request: &Request) -> Result<Upload, UploadError> {
    let metadata = match request.headers().get("upload-metadata").map(|value| value.to_str()) {
        None => Metadata::default(),
        Some(text) => text.ok().and_then(|text| text.parse().ok()).ok_or(UploadError::Malformed(
            "Upload-Metadata must be names, each with a value in base64, between commas",
        ))?,
    };
    let length = number(request, "upload-length", MALFORMED_LENGTH)?;
    let is_deferred = match request.header("upload-defer-length") {
        None => false,
        Some("1") => true,
        Some(_) => return Err(UploadError::Malformed("Upload-Defer-Length must be 1")),
    };
    let kind = kind(workshop, request)?;
    let length = match (&kind, length, is_deferred) {
        (Kind::Joined(parts), None, false) => Some(joined_length(workshop, parts)?),
        (Kind::Joined(_), ..) => {
            return Err(UploadError::Malformed("a final upload has the length of its parts"));
        }
        (_, Some(length), false) => Some(length),
        (_, None, true) => None,
        (_, None, false) => {
            return Err(UploadError::Malformed("Upload-Length or Upload-Defer-Length is missing"));
        }
        (_, Some(_), true) => {
            return Err(UploadError::Malformed("Upload-Length and Upload-Defer-Length exclude each other"));
        }
    };
    Ok(Upload::new(kind, length, metadata)?)
}

fn kind(workshop: &Workshop, request: &Request) -> Result<Kind, UploadError> {
    const MALFORMED: &str = "Upload-Concat must be partial, or final; and the URLs of the parts";
    let Some(text) = request.headers().get("upload-concat") else { return Ok(Kind::Sequence) };
    let text = text.to_str().map_err(|_| UploadError::Malformed(MALFORMED))?.trim();
    if text == "partial" {
        return Ok(Kind::Part);
    }
    let urls = text.strip_prefix("final;").ok_or(UploadError::Malformed(MALFORMED))?;
    let id = |url: &str| url.trim_end_matches('/').rsplit('/').next().and_then(|name| name.parse().ok());
    let parts: Option<Vec<UploadId>> = urls.split_ascii_whitespace().map(id).collect();
    match parts {
        Some(parts) if parts.is_empty() => Err(UploadError::Malformed(MALFORMED)),
        Some(parts) if parts.len() > workshop.limits.max_parts => {
            Err(UploadError::Malformed("Upload-Concat names too many parts"))
        }
        Some(parts) => Ok(Kind::Joined(parts)),
        None => Err(UploadError::Malformed("Upload-Concat names a part that is not here")),
    }
}

/// The length of all parts, each of which must be a part and complete.
fn joined_length(workshop: &Workshop, parts: &[UploadId]) -> Result<u64, UploadError> {
    let mut length: u64 = 0;
    for part in parts {
        let (_session, status) = workshop.open(*part)?;
        if status.upload.kind != Kind::Part {
            return Err(UploadError::Malformed("Upload-Concat names an upload that is not partial"));
        }
        if status.upload.length != Some(status.offset) {
            return Err(UploadError::Malformed("Upload-Concat names a part that is not complete"));
        }
        length = length.checked_add(status.offset).ok_or(UploadError::TooLarge)?;
    }
    Ok(length)
}

fn look(workshop: &Workshop, request: &Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Look(id))?;
    let (session, _) = workshop.open(id)?;
    // Who asks is about to resume: a request that died silently must not change the answer any more.
    session.fence()?;
    let status = workshop.status(&session)?;
    let mut response = Response::empty(StatusCode::OK);
    set(&mut response, "upload-offset", status.offset.to_string());
    match status.upload.length {
        Some(length) => set(&mut response, "upload-length", length.to_string()),
        None => set(&mut response, "upload-defer-length", "1"),
    }
    if !status.upload.metadata.is_empty() {
        set(&mut response, "upload-metadata", status.upload.metadata.to_string());
    }
    match &status.upload.kind {
        Kind::Part => set(&mut response, "upload-concat", "partial"),
        Kind::Joined(parts) => {
            let collection = collection_path(request, target);
            let urls: Vec<_> = parts.iter().map(|part| format!("{collection}/{part}")).collect();
            set(&mut response, "upload-concat", format!("final;{}", urls.join(" ")));
        }
        Kind::Sequence | Kind::Ranges => {}
    }
    set_expires(&mut response, &status);
    Ok(response)
}

fn append(workshop: &Workshop, request: &mut Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Write(id))?;
    if !is_media_type(request, MEDIA_TYPE) {
        return Err(UploadError::MediaType(MEDIA_TYPE));
    }
    let offset = number(request, "upload-offset", MALFORMED_OFFSET)?;
    let offset = offset.ok_or(UploadError::Malformed("Upload-Offset is missing"))?;
    let wanted = WantedChecksum::of(request)?;
    let (session, status) = workshop.open(id)?;
    match status.upload.kind {
        Kind::Joined(_) => return Err(UploadError::Forbidden("a final upload takes no bytes")),
        Kind::Ranges => return Err(UploadError::Forbidden("this upload comes in ranges")),
        Kind::Sequence | Kind::Part => {}
    }
    let intake = workshop.intake(request)?;
    let lease = workshop.lease(&session)?;
    // Only who has the lease knows the offset for certain.
    let status = workshop.status(&session)?;
    if status.offset != offset {
        return Err(UploadError::OffsetMismatch { offset: status.offset });
    }
    let length = declare_length(workshop, request, &lease, &status)?;
    check_body_length(request, length.map(|length| length - offset))?;
    if has_body(request) {
        intake.append(&lease, request.stream(), &wanted)?;
    }
    workshop.finish(&session)?;
    let status = workshop.status(&session)?;
    let mut response = Response::empty(StatusCode::NO_CONTENT);
    set(&mut response, "upload-offset", status.offset.to_string());
    set_expires(&mut response, &status);
    Ok(response)
}

/// Takes the length that an upload of deferred length is now given, and says what is known of it.
fn declare_length(
    workshop: &Workshop,
    request: &Request,
    lease: &crate::active::Lease<'_>,
    status: &Status,
) -> Result<Option<u64>, UploadError> {
    let declared = number(request, "upload-length", MALFORMED_LENGTH)?;
    match (status.upload.length, declared) {
        (known, None) => Ok(known),
        (Some(known), Some(declared)) if known == declared => Ok(Some(known)),
        (Some(_), Some(_)) => Err(UploadError::Malformed("Upload-Length is another than before")),
        (None, Some(declared)) if declared < status.offset => {
            Err(UploadError::Malformed("Upload-Length is less than what has come"))
        }
        (None, Some(declared)) => {
            workshop.check_length(declared)?;
            lease.with(|stored| stored.set_length(declared))?;
            Ok(Some(declared))
        }
    }
}

/// Refuses a body that says itself that it is too long, before it comes.
fn check_body_length(request: &Request, room: Option<u64>) -> Result<(), UploadError> {
    match (request.content_length(), room) {
        (Some(length), Some(room)) if length > room => Err(UploadError::TooLarge),
        _ => Ok(()),
    }
}

fn terminate(workshop: &Workshop, request: &Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Terminate(id))?;
    let (session, _) = workshop.open(id)?;
    workshop.terminate(&session)?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

fn set_expires(response: &mut Response, status: &Status) {
    if let Some(expires) = status.expires {
        set(response, "upload-expires", http_date(expires));
    }
}
