//! Requests to a bucket's server: signed, tried again, bounded in time.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rusty_s3::{Bucket, Method};
use ureq::config::Config;
use ureq::http::request::Builder;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, SendBody};

use crate::failure::Failure;
use crate::{S3Credentials, S3Limits, xml};

/// Most bytes of an answer that is read as a whole: a list has 1,000 entries, each with a key.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;
/// What a connection's buffers take while it has a request: there may be one for each upload.
const INPUT_BUFFER_BYTES: usize = 16 * 1024;
const OUTPUT_BUFFER_BYTES: usize = 16 * 1024;
/// How long a signature is good, clocks that differ included.
const SIGNATURE_LIFETIME_SECONDS: u64 = 15 * 60;

/// Requests to a bucket's server.
#[derive(Debug)]
pub(crate) struct Client {
    bucket: Bucket,
    credentials: S3Credentials,
    agent: Agent,
    limits: S3Limits,
}

/// A request.
pub(crate) struct Call<'c> {
    method: Method,
    /// Empty for the bucket itself.
    key: &'c str,
    /// In the order of their names, as the signature has them.
    query: Vec<(&'c str, String)>,
    /// In the order of their names, which are lower case.
    headers: Vec<(&'c str, String)>,
    payload: Payload<'c>,
}

/// What is sent with a request.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'p> {
    Nothing,
    Bytes(&'p [u8]),
    /// The first bytes of a file.
    File {
        file: &'p File,
        bytes: u64,
    },
}

/// A successful answer, of which the body is still to be read.
pub(crate) type Answer = Response<Body>;

impl Client {
    pub(crate) fn new(bucket: Bucket, credentials: S3Credentials, limits: S3Limits) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::from(roots.collect::<Vec<_>>()))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = Config::builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_millis(limits.connect_timeout_ms)))
            .input_buffer_size(INPUT_BUFFER_BYTES)
            .output_buffer_size(OUTPUT_BUFFER_BYTES)
            .max_idle_connections(limits.max_idle_connections)
            .max_idle_connections_per_host(limits.max_idle_connections)
            .tls_config(tls)
            .build();
        Self { bucket, credentials, agent: config.into(), limits }
    }

    pub(crate) fn bucket_name(&self) -> &str {
        self.bucket.name()
    }

    /// Sends a request until it succeeds, `read` included, or fails for good, or has been tried often enough.
    pub(crate) fn call<T>(
        &self,
        call: &Call<'_>,
        mut read: impl FnMut(Answer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut delay = Duration::from_millis(self.limits.first_retry_delay_ms);
        let mut attempts = 1;
        loop {
            match self.attempt(call).and_then(&mut read) {
                Err(failure) if failure.is_transient() && attempts < self.limits.max_attempts => {
                    tracing::debug!("attempt {attempts} to {} {}: {failure}", call.method, call.key);
                }
                done => return done,
            }
            thread::sleep(delay);
            delay *= 2;
            attempts += 1;
        }
    }

    /// Sends a request whose answer's body means nothing, or says what went wrong.
    pub(crate) fn command(&self, call: &Call<'_>) -> Result<(), Failure> {
        self.call(call, |answer| drained(answer).map(drop))
    }

    fn attempt(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let mut request =
            Request::builder().method(call.method.to_str()).uri(self.signed_url(call)?.as_str());
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if matches!(call.method, Method::Put | Method::Post) {
            request = request.header("content-length", call.payload.bytes());
        }
        let timeout = self.timeout(call.payload.bytes());
        let answer = match call.payload {
            Payload::Nothing => self.run(request, SendBody::none(), timeout),
            payload => self.run(request, SendBody::from_reader(&mut payload.reader()), timeout),
        };
        let answer = answer.map_err(Failure::Unreachable)?;
        if answer.status().is_success() { Ok(answer) } else { Err(refused(answer)) }
    }

    fn run(&self, request: Builder, body: SendBody<'_>, timeout: Duration) -> Result<Answer, ureq::Error> {
        let request = self.agent.configure_request(request.body(body)?);
        self.agent.run(request.timeout_global(Some(timeout)).build())
    }

    fn timeout(&self, bytes: u64) -> Duration {
        // What comes is never more than a part.
        let bytes = bytes.max(self.limits.part_bytes);
        let transfer = bytes.saturating_mul(1_000) / self.limits.min_transfer_bytes_per_second.max(1);
        Duration::from_millis(self.limits.answer_timeout_ms.saturating_add(transfer))
    }

    fn signed_url(&self, call: &Call<'_>) -> Result<String, Failure> {
        let url = match call.key {
            "" => self.bucket.base_url().clone(),
            key => self.bucket.object_url(key).map_err(|error| Failure::Garbled(error.to_string()))?,
        };
        let credentials = self.credentials.signing();
        let signed = rusty_s3::signing::sign(
            &Timestamp::now(),
            call.method,
            url,
            credentials.key(),
            credentials.secret(),
            credentials.token(),
            self.bucket.region(),
            SIGNATURE_LIFETIME_SECONDS,
            call.query.iter().map(|(name, value)| (*name, value.as_str())),
            call.headers.iter().map(|(name, value)| (*name, value.as_str())),
        );
        Ok(signed.into())
    }
}

impl<'c> Call<'c> {
    pub(crate) fn new(method: Method, key: &'c str) -> Self {
        Self { method, key, query: Vec::new(), headers: Vec::new(), payload: Payload::Nothing }
    }

    pub(crate) fn query(mut self, name: &'c str, value: impl Into<String>) -> Self {
        insert(&mut self.query, name, value.into());
        self
    }

    /// A field, by its name in lower case.
    pub(crate) fn header(mut self, name: &'c str, value: impl Into<String>) -> Self {
        insert(&mut self.headers, name, value.into());
        self
    }

    pub(crate) fn payload(mut self, payload: Payload<'c>) -> Self {
        self.payload = payload;
        self
    }
}

/// Keeps the order by name.
fn insert<'c>(pairs: &mut Vec<(&'c str, String)>, name: &'c str, value: String) {
    let at = pairs.partition_point(|(known, _)| *known < name);
    pairs.insert(at, (name, value));
}

impl<'p> Payload<'p> {
    fn bytes(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { bytes, .. } => bytes,
        }
    }

    fn reader(self) -> PayloadReader<'p> {
        match self {
            Self::Nothing => PayloadReader::Bytes(&[]),
            Self::Bytes(bytes) => PayloadReader::Bytes(bytes),
            Self::File { file, bytes } => PayloadReader::File { file, offset: 0, left_bytes: bytes },
        }
    }
}

/// Reads a payload from its beginning; a file's own position does not matter.
enum PayloadReader<'p> {
    Bytes(&'p [u8]),
    File { file: &'p File, offset: u64, left_bytes: u64 },
}

impl Read for PayloadReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Bytes(bytes) => bytes.read(into),
            Self::File { file, offset, left_bytes } => {
                let wanted = into.len().min(usize::try_from(*left_bytes).unwrap_or(usize::MAX));
                let count = file.read_at(&mut into[..wanted], *offset)?;
                *offset += count as u64;
                *left_bytes -= count as u64;
                Ok(count)
            }
        }
    }
}

/// The whole body of an answer, which is small.
pub(crate) fn drained(answer: Answer) -> Result<Vec<u8>, Failure> {
    let mut body = answer.into_body();
    body.with_config().limit(MAX_ANSWER_BYTES).read_to_vec().map_err(Failure::Unreachable)
}

fn refused(answer: Answer) -> Failure {
    let status = answer.status().as_u16();
    let code = drained(answer).ok().and_then(|body| xml::error_code(&body)).unwrap_or_default();
    Failure::Refused { status, code }
}
