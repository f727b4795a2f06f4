//! Uploads in ranges: `Content-Range` in requests (RFC 9110 sections 14.4 and 14.5), parts in any order.

use std::ops::Range;

use tayet::{IntoResponse, Method, Request, Response, StatusCode};

use crate::active::Session;
use crate::asked::{Target, collection_path};
use crate::fields::{has_body, http_date, is_digits, parameter, set};
use crate::hooks::Action;
use crate::upload_error::UploadError;
use crate::wanted_checksum::WantedChecksum;
use crate::workshop::{Status, Workshop};
use crate::{Kind, Metadata, Upload};

const MALFORMED: &str = "Content-Range must be bytes FIRST-LAST/LENGTH, or * in place of either";

/// A `Content-Range` field: which bytes the body is, and of how many.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContentRange {
    /// `None` for `*`: no bytes, but a question.
    bytes: Option<Range<u64>>,
    /// `None` for `*`: not known yet.
    length: Option<u64>,
}

/// Answers a request by this protocol.
pub(crate) fn answer(workshop: &Workshop, request: &mut Request, target: &Target) -> Response {
    let answered = match (request.method(), target) {
        (&Method::POST | &Method::PUT | &Method::PATCH, Target::Collection) => {
            create(workshop, request, target)
        }
        (&Method::PUT | &Method::PATCH, Target::Item(_)) => write(workshop, request, target),
        (&Method::HEAD, Target::Item(_)) => look(workshop, request, target),
        (&Method::DELETE, Target::Item(_)) => terminate(workshop, request, target),
        _ => Err(UploadError::MethodNotAllowed),
    };
    answered.unwrap_or_else(UploadError::into_response)
}

fn create(workshop: &Workshop, request: &mut Request, target: &Target) -> Result<Response, UploadError> {
    workshop.authorize(request, Action::Create)?;
    if !workshop.store.abilities().ranges {
        return Err(UploadError::Unable("the store takes no ranges"));
    }
    let content_range = ContentRange::of(request)?;
    let name = request.header("content-disposition").and_then(|value| parameter(value, "filename"));
    let metadata = name.map_or_else(Metadata::default, |name| Metadata::with_file_name(&name));
    let upload = Upload::new(Kind::Ranges, content_range.length, metadata)?;
    let session = workshop.create(upload, request)?;
    let outcome = receive(workshop, request, &session, &content_range);
    let response = outcome.inspect_err(|_| workshop.discard(&session))?;
    let mut response = response.with_status(StatusCode::CREATED);
    set(&mut response, "location", format!("{}/{}", collection_path(request, target), session.id()));
    Ok(response)
}

fn write(workshop: &Workshop, request: &mut Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Write(id))?;
    let content_range = ContentRange::of(request)?;
    let (session, _) = workshop.open(id)?;
    receive(workshop, request, &session, &content_range)
}

fn look(workshop: &Workshop, request: &Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Look(id))?;
    let (_session, status) = workshop.open(id)?;
    if status.upload.kind != Kind::Ranges {
        // By tus, which alone asks without a field of its own, every request says its version.
        return Err(UploadError::Version);
    }
    Ok(described(&status).with_status(StatusCode::OK))
}

fn terminate(workshop: &Workshop, request: &Request, target: &Target) -> Result<Response, UploadError> {
    let id = target.upload()?;
    workshop.authorize(request, Action::Terminate(id))?;
    let (session, status) = workshop.open(id)?;
    if status.upload.kind != Kind::Ranges {
        return Err(UploadError::Version);
    }
    workshop.terminate(&session)?;
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

/// Takes a part, or nothing if it is a question, and says what has come.
fn receive(
    workshop: &Workshop,
    request: &mut Request,
    session: &Session,
    content_range: &ContentRange,
) -> Result<Response, UploadError> {
    let status = workshop.status(session)?;
    if status.upload.kind != Kind::Ranges {
        return Err(UploadError::Conflict("this upload takes no ranges"));
    }
    if status.finished.is_none() {
        learn_length(workshop, session, &status, content_range)?;
    }
    match &content_range.bytes {
        Some(bytes) => {
            check_part(workshop, request, &status, bytes)?;
            let wanted = WantedChecksum::of(request)?;
            let intake = workshop.intake(request)?;
            intake.write_range(session, request.stream(), bytes.clone(), &wanted)?;
        }
        None if has_body(request) => {
            return Err(UploadError::Malformed("a body has a range"));
        }
        None => {}
    }
    workshop.finish(session)?;
    Ok(described(&workshop.status(session)?))
}

/// Takes the length of the whole when it is first said; it may not change.
fn learn_length(
    workshop: &Workshop,
    session: &Session,
    status: &Status,
    content_range: &ContentRange,
) -> Result<(), UploadError> {
    let Some(said) = content_range.length else { return Ok(()) };
    match status.upload.length {
        Some(known) if known == said => Ok(()),
        Some(known) => Err(UploadError::RangeNotSatisfiable { length: known }),
        None if status.received.as_ref().is_some_and(|received| received.end() > said) => {
            Err(UploadError::Conflict("more has come than the upload is said to have"))
        }
        None => {
            workshop.check_length(said)?;
            let load = || workshop.load(session.id());
            Ok(session.with(load, |stored| stored.set_length(said))??)
        }
    }
}

fn check_part(
    workshop: &Workshop,
    request: &Request,
    status: &Status,
    bytes: &Range<u64>,
) -> Result<(), UploadError> {
    workshop.check_length(bytes.end)?;
    if let Some(length) = status.upload.length.filter(|length| bytes.end > *length) {
        return Err(UploadError::RangeNotSatisfiable { length });
    }
    if request.content_length().is_some_and(|length| length != bytes.end - bytes.start) {
        return Err(UploadError::Malformed("the body is not as long as its Content-Range"));
    }
    let ranges = status.received.as_ref().map_or(0, crate::ByteRanges::count);
    if ranges >= workshop.limits.max_ranges {
        return Err(UploadError::Conflict("the upload has too many gaps; fill some first"));
    }
    Ok(())
}

/// What has come: `Range` names the bytes, `Upload-Offset` those without a gap from the beginning on.
fn described(status: &Status) -> Response {
    let is_complete = status.finished.is_some();
    let code = if is_complete { StatusCode::OK } else { StatusCode::ACCEPTED };
    let mut response = Response::empty(code);
    set(&mut response, "upload-offset", status.offset.to_string());
    set(&mut response, "upload-complete", if is_complete { "?1" } else { "?0" });
    set(&mut response, "cache-control", "no-store");
    if let Some(length) = status.upload.length {
        set(&mut response, "upload-length", length.to_string());
    }
    let received = status.received.iter().flat_map(crate::ByteRanges::iter);
    let ranges: Vec<_> = received.map(|range| format!("{}-{}", range.start, range.end - 1)).collect();
    if !ranges.is_empty() {
        set(&mut response, "range", format!("bytes={}", ranges.join(",")));
    }
    if let Some(expires) = status.expires {
        set(&mut response, "upload-expires", http_date(expires));
    }
    response
}

impl ContentRange {
    fn of(request: &Request) -> Result<Self, UploadError> {
        request.header("content-range").and_then(Self::parse).ok_or(UploadError::Malformed(MALFORMED))
    }

    fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (bytes, length) = rest.trim().split_once('/')?;
        let number = |text: &str| is_digits(text).then(|| text.parse::<u64>().ok()).flatten();
        let length = if length == "*" { None } else { Some(number(length)?) };
        if bytes == "*" {
            return unit.eq_ignore_ascii_case("bytes").then_some(Self { bytes: None, length });
        }
        let (first, last) = bytes.split_once('-')?;
        let (first, end) = (number(first)?, number(last)?.checked_add(1)?);
        let is_valid =
            unit.eq_ignore_ascii_case("bytes") && first < end && length.is_none_or(|length| end <= length);
        is_valid.then_some(Self { bytes: Some(first..end), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_strictly() {
        let range = |bytes, length| Some(ContentRange { bytes, length });
        assert_eq!(ContentRange::parse("bytes 0-0/1"), range(Some(0..1), Some(1)));
        assert_eq!(ContentRange::parse("bytes 5-9/*"), range(Some(5..10), None));
        assert_eq!(ContentRange::parse("bytes */7"), range(None, Some(7)));
        assert_eq!(ContentRange::parse("bytes */*"), range(None, None));
        for text in [
            "",
            "bytes",
            "bytes 0-0",
            "bytes=0-0/1",
            "bytes 1-0/5",
            "bytes 0-5/5",
            "lines 0-0/1",
            "bytes -5/9",
            "bytes 0-/9",
            "bytes +0-1/9",
            "bytes 0-18446744073709551615/*",
            "bytes 0-1,3-4/9",
        ] {
            assert_eq!(ContentRange::parse(text), None, "{text}");
        }
    }
}
