//! Uploads without a protocol: multipart forms, and `PUT` of a file.

use percent_encoding::percent_decode_str;
use tayet::{IntoResponse, Json, Multipart, MultipartLimits, Request, Response, StatusCode};

use crate::active::Session;
use crate::asked::{Target, collection_path};
use crate::fields::set;
use crate::hooks::Action;
use crate::intake::{Intake, Source};
use crate::stats::Listed;
use crate::upload_error::UploadError;
use crate::wanted_checksum::WantedChecksum;
use crate::workshop::Workshop;
use crate::{Kind, Metadata, Upload};

/// Answers a form whose files are to be kept.
pub(crate) fn answer_form(workshop: &Workshop, request: &mut Request) -> Response {
    form(workshop, request).unwrap_or_else(UploadError::into_response)
}

/// Answers a `PUT` of a file by its name.
pub(crate) fn answer_put(workshop: &Workshop, request: &mut Request, target: &Target) -> Response {
    put(workshop, request, target).unwrap_or_else(UploadError::into_response)
}

fn form(workshop: &Workshop, request: &mut Request) -> Result<Response, UploadError> {
    workshop.authorize(request, Action::Create)?;
    let intake = workshop.intake(request)?;
    let body = request.take_body();
    let mut form = Multipart::new(request.header("content-type"), body)
        .map_err(UploadError::Form)?
        .with_limits(form_limits(workshop));
    let mut stored = Vec::new();
    while let Some(mut part) = form.next_part().map_err(UploadError::Form)? {
        // An empty name is what a browser sends for a field in which no file was chosen.
        let Some(name) = part.file_name().filter(|name| !name.is_empty()) else { continue };
        let metadata = Metadata::with_file_name(name);
        let metadata = match part.content_type() {
            Some(media_type) => metadata.with("filetype", media_type),
            None => metadata,
        };
        let upload = Upload::new(Kind::Sequence, None, metadata)?;
        stored.push(store(workshop, request, &intake, upload, &mut part, &WantedChecksum::None)?.1);
    }
    Ok((StatusCode::CREATED, Json(stored)).into_response())
}

/// Those of forms, except that how large a file may be is said by the limits of uploads.
fn form_limits(workshop: &Workshop) -> MultipartLimits {
    MultipartLimits {
        max_files: workshop.limits.max_form_files,
        max_file_bytes: u64::MAX,
        ..MultipartLimits::default()
    }
}

fn put(workshop: &Workshop, request: &mut Request, target: &Target) -> Result<Response, UploadError> {
    workshop.authorize(request, Action::Create)?;
    let Target::Item(name) = target else { return Err(UploadError::MethodNotAllowed) };
    let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
    let wanted = WantedChecksum::of(request)?;
    let upload = Upload::new(Kind::Sequence, request.content_length(), Metadata::with_file_name(&name))?;
    let intake = workshop.intake(request)?;
    let mut body = request.take_body();
    let (session, listed) = store(workshop, request, &intake, upload, &mut body, &wanted)?;
    let mut response = (StatusCode::CREATED, Json(listed)).into_response();
    set(&mut response, "location", format!("{}/{}", collection_path(request, target), session.id()));
    Ok(response)
}

/// Stores all of a file, or nothing of it: nobody could resume it.
fn store(
    workshop: &Workshop,
    request: &Request,
    intake: &Intake<'_>,
    upload: Upload,
    body: &mut dyn Source,
    wanted: &WantedChecksum,
) -> Result<(Session, Listed), UploadError> {
    let session = workshop.create(upload, request)?;
    let stored = workshop.lease(&session).and_then(|lease| {
        intake.append(&lease, body, wanted)?;
        lease.with(|stored| match stored.upload().length {
            None => stored.set_length(stored.offset()),
            Some(_) => Ok(()),
        })?;
        workshop.finish(&session)?;
        workshop.status(&session)?.finished.ok_or(UploadError::Malformed("the body is not whole"))
    });
    match stored {
        Ok(finished) => {
            let listed = Listed { id: session.id(), finished };
            Ok((session, listed))
        }
        Err(error) => {
            workshop.discard(&session);
            Err(error)
        }
    }
}
