//! What the simulated server serves: a route for each way to take a request and to answer it.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tayet_http1::Head;
use tayet_testkit::{Random, SimulatedNet};

use super::sockets::{Diarist, Diary};
use crate::sync::{Mutex, lock};
use crate::{
    Body, BodyError, BodyPart, BodyUse, Captures, Pin, Request, Response, Route, RouteId, Service,
    WebSocketOptions,
};

/// How long the client of [`Kind::Hasty`] waits for its handler.
pub(super) const HASTY_TIMEOUT_MS: u64 = 500;

/// The field of a hint that has the body of the answer.
pub(super) const HINT: &str = "x-answer";

/// How long [`Kind::Deferred`] puts its answer off, at most.
const MAX_DEFERRAL: Duration = Duration::from_millis(20);

/// The route of a request `/{kind}/{tag}/{size}`: how it takes its body and how it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// A few bytes, which name the tag.
    Plain,
    /// The same, from a handler that is pinned to a worker.
    Blocking,
    /// The same, from a handler that is pinned to its loop.
    Pinned,
    /// The same, from a route that learns for each of its tags where it runs.
    ByTag,
    /// The same, from a route with a time-out, behind a hint.
    Hasty,
    /// The same, behind `size` hints, of which each tells what the answer will be.
    Hinted,
    /// `size` bytes.
    Sized,
    /// `size` bytes that are written while they are sent, in chunks.
    Written,
    /// The same with a length.
    WrittenSized,
    /// `size` bytes of a file.
    File,
    /// The same in three parts, of which the middle one is of a file, from a handler that is pinned to a worker.
    Parts,
    /// `size` bytes of a file that has half of them.
    Shrunken,
    /// `size` bytes, later and from elsewhere.
    Deferred,
    /// The request's body, once it is there.
    Echo,
    /// The request's body, of which a part may still arrive.
    Adaptive,
    /// The request's body, read while it arrives.
    Streamed,
    /// A few bytes, without a look at the body.
    Ignoring,
    /// Nothing: its handler panics.
    Panicking,
    /// A WebSocket that echoes.
    Socket,
    /// A WebSocket that publishes what it says to all of its kind.
    Topic,
}

impl Kind {
    const ALL: [Self; 20] = [
        Self::Plain,
        Self::Blocking,
        Self::Pinned,
        Self::ByTag,
        Self::Hasty,
        Self::Hinted,
        Self::Sized,
        Self::Written,
        Self::WrittenSized,
        Self::File,
        Self::Parts,
        Self::Shrunken,
        Self::Deferred,
        Self::Echo,
        Self::Adaptive,
        Self::Streamed,
        Self::Ignoring,
        Self::Panicking,
        Self::Socket,
        Self::Topic,
    ];

    pub(super) fn takes_body(self) -> bool {
        matches!(self, Self::Echo | Self::Adaptive | Self::Streamed | Self::Ignoring)
    }

    pub(super) fn target(self, tag: u64, size: usize) -> String {
        format!("/{self:?}/{tag}/{size}")
    }

    /// What a client is to get for `body`: the status and the body of the answer.
    pub(super) fn answer(self, tag: u64, size: usize, body: &[u8]) -> (u16, Vec<u8>) {
        match self {
            Self::Plain
            | Self::Blocking
            | Self::Pinned
            | Self::ByTag
            | Self::Hasty
            | Self::Hinted
            | Self::Ignoring => (200, plain(tag)),
            Self::Sized
            | Self::Written
            | Self::WrittenSized
            | Self::File
            | Self::Parts
            | Self::Shrunken
            | Self::Deferred => (200, pattern(tag, size)),
            Self::Echo | Self::Adaptive | Self::Streamed => (200, body.to_vec()),
            Self::Socket | Self::Topic => (101, Vec::new()),
            Self::Panicking => (500, b"{\"title\":\"Internal Server Error\",\"status\":500}\n".to_vec()),
        }
    }

    fn route(self) -> Route {
        Route {
            label: format!("{self:?}"),
            pin: match self {
                Self::Blocking | Self::Parts => Some(Pin::Blocking),
                Self::Pinned => Some(Pin::Inline),
                _ => None,
            },
            body: match self {
                Self::Echo => BodyUse::Buffered,
                Self::Streamed | Self::Ignoring => BodyUse::Streamed,
                _ => BodyUse::Adaptive,
            },
            learns_by_path: self == Self::ByTag,
            timeout_ms: (self == Self::Hasty).then_some(HASTY_TIMEOUT_MS),
            ..Route::default()
        }
    }
}

/// The application.
pub(super) struct Application {
    pub(super) net: SimulatedNet,
    pub(super) random: Mutex<Random>,
    pub(super) diary: Diary,
}

/// What of a body was read before its handler is called; a simulation's one thread cannot have it wait.
#[derive(Clone, Default)]
pub(super) struct ReadBefore {
    pub(super) bytes: Vec<u8>,
    pub(super) error: Option<BodyError>,
}

impl Service for Application {
    fn routes(&self) -> Vec<Route> {
        Kind::ALL.into_iter().map(Kind::route).collect()
    }

    fn find(&self, head: &Head, _: &mut Captures) -> RouteId {
        RouteId(parse(head.path()).0 as u32)
    }

    fn call(&self, request: &mut Request) -> Response {
        let (kind, tag, size) = parse(request.path());
        match kind {
            Kind::Sized => Response::new(pattern(tag, size)),
            Kind::Written => Response::new(Body::from_writer(move |out| out.write_all(&pattern(tag, size)))),
            Kind::WrittenSized => Response::new(Body::from_writer_sized(size as u64, move |out| {
                out.write_all(&pattern(tag, size))
            })),
            Kind::File => Response::new(Body::from_file(file_of(&pattern(tag, size)), 0..size as u64)),
            Kind::Shrunken => {
                Response::new(Body::from_file(file_of(&pattern(tag, size / 2)), 0..size as u64))
            }
            Kind::Parts => Response::new(in_parts(&pattern(tag, size))),
            Kind::Deferred => {
                let responder = request.defer();
                let time =
                    Duration::from_micros(lock(&self.random).within(0..=MAX_DEFERRAL.as_micros() as u64));
                self.net.after(time, move || responder.respond(Response::new(pattern(tag, size))));
                Response::default()
            }
            Kind::Echo | Kind::Adaptive | Kind::Streamed => match whole_body(request) {
                Ok(body) => Response::new(body),
                Err(error) => Response::empty(error.status()),
            },
            Kind::Socket | Kind::Topic => {
                let diarist = Diarist { tag, topic: kind == Kind::Topic, diary: Arc::clone(&self.diary) };
                Response::web_socket(Arc::new(diarist), WebSocketOptions::default())
            }
            Kind::Hasty | Kind::Hinted => {
                let hints = if kind == Kind::Hinted { size } else { 1 };
                (0..hints).for_each(|_| hint(request, tag));
                Response::new(plain(tag))
            }
            // Unwinds without the message that a panic prints.
            Kind::Panicking => std::panic::resume_unwind(Box::new("as asked")),
            _ => Response::new(plain(tag)).with_status(StatusCode::OK),
        }
    }
}

fn parse(path: &str) -> (Kind, u64, usize) {
    let mut parts = path.split('/').skip(1);
    let mut part = || parts.next().unwrap_or_else(|| panic!("{path} is no path of this application"));
    let name = part();
    let kind = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == name).expect("a known kind");
    (kind, part().parse().expect("a tag"), part().parse().expect("a size"))
}

/// Tells the client what the answer will be. One that has gone, or takes nothing, is not told.
fn hint(request: &Request, tag: u64) {
    let told = HeaderValue::from_bytes(&plain(tag)).expect("visible ASCII");
    let fields = HeaderMap::from_iter([(HeaderName::from_static(HINT), told)]);
    let _ = request.send_interim(StatusCode::EARLY_HINTS, &fields);
}

fn plain(tag: u64) -> Vec<u8> {
    format!("this is {tag}").into_bytes()
}

/// Bytes that tell whose they are and where they belong.
pub(super) fn pattern(tag: u64, size: usize) -> Vec<u8> {
    (0..size).map(|at| (tag as usize * 31 + at * 7 + at / 251) as u8).collect()
}

/// These bytes, of which those in the middle are in a file.
fn in_parts(bytes: &[u8]) -> Body {
    let (start, end) = (bytes.len() / 3, bytes.len() * 2 / 3);
    let part = |range: std::ops::Range<usize>| BodyPart::Bytes(bytes[range].to_vec().into());
    let range = start as u64..end as u64;
    let middle = BodyPart::File { file: Arc::new(file_of(bytes)), range };
    Body::from_parts([part(0..start), middle, part(end..bytes.len())])
}

/// A file of these bytes, without a name.
fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("there is room for a small file");
    file.write_all(bytes).expect("there is room for a small file");
    file
}

fn whole_body(request: &mut Request) -> Result<Vec<u8>, BodyError> {
    let read = request.extensions_mut().remove::<ReadBefore>().unwrap_or_default();
    if let Some(error) = read.error {
        return Err(error);
    }
    let mut body = read.bytes;
    let mut part = [0; 4_096];
    loop {
        match request.stream().read_some(&mut part)? {
            0 => return Ok(body),
            count => body.extend_from_slice(&part[..count]),
        }
    }
}
