//! What a client of the IETF's draft is told while its request's body still comes: `104 (Upload Resumption Supported)`.

use std::time::{Duration, Instant};

use tayet::http::HeaderName;
use tayet::{HeaderMap, HeaderValue, Request, StatusCode};

use super::ietf::InteropVersion;

/// Shortest time between two reports of how far an upload is.
const REPORT_INTERVAL_MS: u64 = 1_000;

/// Tells the client of a request where its upload is, and how far. A client that does not hear it learns it later.
pub(crate) struct Resumption<'r> {
    request: &'r Request,
    version: InteropVersion,
    last_report: Instant,
}

impl<'r> Resumption<'r> {
    pub(crate) fn new(request: &'r Request, version: InteropVersion) -> Self {
        Self { request, version, last_report: Instant::now() }
    }

    /// Tells where the upload is, and what it may cost.
    pub(crate) fn announce(&self, location: &str, limits: Option<&str>) {
        let limits = limits.map(|limits| ("upload-limit", limits));
        self.send([("location", location)].into_iter().chain(limits));
    }

    /// Tells how far the upload is, from interop version 6 on and now and then.
    pub(crate) fn report(&mut self, offset: u64) {
        let is_due = self.last_report.elapsed() >= Duration::from_millis(REPORT_INTERVAL_MS);
        if is_due && self.version >= InteropVersion::V6 {
            self.last_report = Instant::now();
            self.send([("upload-offset", offset.to_string().as_str())].into_iter());
        }
    }

    fn send<'a>(&self, fields: impl Iterator<Item = (&'static str, &'a str)>) {
        let fields = fields.chain([("upload-draft-interop-version", self.version.number())]);
        let fields: HeaderMap = fields
            .filter_map(|(name, value)| {
                Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
            })
            .collect();
        if let Err(error) = self.request.send_interim(upload_resumption_supported(), &fields) {
            tracing::debug!("a client could not be told of its upload: {error}");
        }
    }
}

/// The status that the draft adds to those of HTTP.
fn upload_resumption_supported() -> StatusCode {
    StatusCode::from_u16(104).expect("three digits")
}
