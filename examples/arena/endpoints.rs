//! What the arena answers.

use std::hint;
use std::io::{self, BufReader, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tayet::http::header;
use tayet::metrics::Metrics;
use tayet::{
    Body, BodyStream, Bytes, Compression, ContentCoding, Decompression, Error, Files, HeaderMap, HeaderValue,
    IntoResponse, Json, Multipart, MultipartLimits, Path, Query, Request, Router, StatusCode, get, health,
    post,
};
use tayet_mongo::Mongo;

use crate::items::{self, Listing};
use crate::{offices, sockets};

/// Longest sleep that can be asked for.
const MAX_SLEEP_MS: u64 = 60_000;
/// Longest time on a core that can be asked for.
const MAX_SPIN_US: u64 = 1_000_000;
/// What a slow answer behind its hint takes: long enough for its loop to go on without it.
const SLOW_HINT: Duration = Duration::from_millis(20);
/// How much of an upload is in memory at a time.
const UPLOAD_BUFFER_BYTES: usize = 64 * 1024;

/// All endpoints; `/static` serves the files of a directory, if there is one, and `/mongo` what is in a database.
pub(crate) fn router(
    files: Option<&std::path::Path>,
    gzip_level: Option<u32>,
    mongo: Mongo,
) -> io::Result<Router> {
    let metrics = Metrics::new();
    let router = Router::new()
        .get("/", || "Hello, World!")
        .get("/pipeline", || "ok")
        .route("/baseline11", get(sum).post(sum))
        .get("/json/{count}", json)
        .route("/json-comp/{count}", get(json).layer(compression(gzip_level)))
        .get("/sleep/{ms}", sleep)
        .get("/spin/{us}", spin)
        .route("/hinted", get(hinted).post(hinted))
        .route("/echo", post(|body: Bytes| body))
        .route("/inflate", post(upload).layer(Decompression::new()))
        .route("/upload", post(upload))
        .route("/multipart", post(multipart))
        .route("/download/{bytes}", get(download).layer(Compression::new()))
        .route("/relay", post(relay).layer(Compression::new()))
        .get("/panic", panic)
        .merge(sockets::router())
        .merge(offices::router(mongo.metrics(&metrics)))
        .get("/metrics", metrics)
        .get("/healthz", health::live)
        .get("/readyz", health::ready);
    Ok(match files {
        Some(directory) => router.nest("/static", Files::open(directory)?),
        None => router,
    })
}

fn compression(gzip_level: Option<u32>) -> Compression {
    let compression = Compression::new();
    match gzip_level {
        Some(level) => compression.level(ContentCoding::Gzip, level),
        None => compression,
    }
}

#[derive(Deserialize)]
struct Terms {
    a: i64,
    b: i64,
}

/// The sum of `a`, `b`, and the number that the body is, if there is one.
fn sum(Query(Terms { a, b }): Query<Terms>, body: Bytes) -> tayet::Result<String> {
    let body = integer(&body)?;
    let sum = a.checked_add(b).and_then(|sum| sum.checked_add(body));
    Ok(sum.ok_or_else(|| bad_request("the sum is more than 64 bits"))?.to_string())
}

fn integer(body: &[u8]) -> tayet::Result<i64> {
    match body.trim_ascii() {
        [] => Ok(0),
        digits => std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| bad_request("the body is no integer of 64 bits")),
    }
}

#[derive(Deserialize)]
struct Multiplier {
    m: Option<u32>,
}

/// The first `count` items of the data set, serialised for each request.
fn json(
    Path(count): Path<usize>,
    Query(Multiplier { m }): Query<Multiplier>,
) -> tayet::Result<Json<Listing>> {
    if !(1..=items::COUNT).contains(&count) {
        return Err(bad_request(format!("there are 1 to {} items", items::COUNT)));
    }
    Ok(Json(Listing::new(count, m.unwrap_or(1))))
}

/// Holds its thread without using it.
fn sleep(Path(ms): Path<u64>) -> tayet::Result<&'static str> {
    if ms > MAX_SLEEP_MS {
        return Err(bad_request(format!("the longest sleep is {MAX_SLEEP_MS} ms")));
    }
    thread::sleep(Duration::from_millis(ms));
    Ok("ok")
}

/// Keeps a core busy.
fn spin(Path(us): Path<u64>) -> tayet::Result<&'static str> {
    if us > MAX_SPIN_US {
        return Err(bad_request(format!("the longest spin is {MAX_SPIN_US} us")));
    }
    let end = Instant::now() + Duration::from_micros(us);
    while Instant::now() < end {
        hint::spin_loop();
    }
    Ok("ok")
}

/// Tells what it will answer before it reads the body, and before it takes its time if the query asks for that.
fn hinted(request: &mut Request) -> tayet::Result<String> {
    let link = HeaderValue::from_static("</style.css>; rel=preload; as=style");
    request.send_interim(StatusCode::EARLY_HINTS, &HeaderMap::from_iter([(header::LINK, link)]))?;
    if request.query() == Some("slow") {
        thread::sleep(SLOW_HINT);
    }
    Ok(io::copy(request.stream(), &mut io::sink())?.to_string())
}

/// Counts the bytes as they come, and keeps none.
fn upload(body: BodyStream) -> tayet::Result<String> {
    let mut body = BufReader::with_capacity(UPLOAD_BUFFER_BYTES, body);
    Ok(io::copy(&mut body, &mut io::sink())?.to_string())
}

/// Tells of each part of a form what it is and how long, and keeps none.
fn multipart(form: Multipart) -> tayet::Result<Json<Vec<Received>>> {
    let mut form =
        form.with_limits(MultipartLimits { max_file_bytes: u64::MAX, ..MultipartLimits::default() });
    let mut received = Vec::new();
    while let Some(mut part) = form.next_part()? {
        let (name, file_name) = (part.name().to_owned(), part.file_name().map(str::to_owned));
        received.push(Received { name, file_name, bytes: part.copy_to(&mut io::sink())? });
    }
    Ok(Json(received))
}

#[derive(Serialize)]
struct Received {
    name: String,
    file_name: Option<String>,
    bytes: u64,
}

/// So many bytes of text, written while they are sent.
fn download(Path(bytes): Path<u64>) -> impl IntoResponse {
    let body = Body::from_writer_sized(bytes, move |out| {
        let block = "warp and weft, ".repeat(4096);
        let mut left = bytes;
        while left > 0 {
            let part = &block.as_bytes()[..left.min(block.len() as u64) as usize];
            out.write_all(part)?;
            left -= part.len() as u64;
        }
        Ok(())
    });
    ([("content-type", "text/plain")], body)
}

/// Gives the body back while it comes, piece by piece, and its length in a trailer.
fn relay(mut body: BodyStream) -> impl IntoResponse {
    let body = Body::from_writer(move |out| {
        let (mut piece, mut bytes) = (vec![0; UPLOAD_BUFFER_BYTES], 0);
        loop {
            let count = body.read(&mut piece)?;
            if count == 0 {
                break;
            }
            out.write_all(&piece[..count])?;
            out.flush()?;
            bytes += count;
        }
        out.trailers_mut().insert("x-bytes", bytes.into());
        Ok(())
    });
    ([("content-type", "text/event-stream"), ("trailer", "x-bytes")], body)
}

fn panic() -> StatusCode {
    panic!("a handler panicked, as it was asked to")
}

fn bad_request(detail: impl Into<String>) -> Error {
    Error::new(StatusCode::BAD_REQUEST, detail)
}
