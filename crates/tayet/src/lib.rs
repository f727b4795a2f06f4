//! An application server for code that blocks.
//!
//! Handlers are plain functions on real threads: they may sleep, query a database or read a file, and no other connection
//! waits for them. There is no `async`. Whoever knows axum knows Tayet.
//!
//! # Five minutes
//!
//! A [`Router`] says which [`Handler`] answers which request; a [`Server`] serves it.
//!
//! ```no_run
//! use tayet::{Router, Server};
//!
//! fn main() -> tayet::Result<()> {
//!     let app = Router::new().get("/", || "Hello, World!");
//!     Server::new(app).bind("127.0.0.1:8080")?.run()
//! }
//! ```
//!
//! A handler's arguments say what it wants of the request, its result what it answers. What is not there, or wrong, is
//! answered before the handler is called ([`Rejection`]).
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use serde::{Deserialize, Serialize};
//! use tayet::testing::TestClient;
//! use tayet::{Json, OrStatus, Path, Query, Router, State, StatusCode};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Note {
//!     text: String,
//! }
//!
//! type Notes = Arc<Mutex<Vec<Note>>>;
//!
//! #[derive(Deserialize)]
//! struct Page {
//!     #[serde(default)]
//!     skip: usize,
//! }
//!
//! fn list(State(notes): State<Notes>, Query(page): Query<Page>) -> Json<Vec<Note>> {
//!     Json(notes.lock().unwrap().iter().skip(page.skip).cloned().collect())
//! }
//!
//! fn add(State(notes): State<Notes>, Json(note): Json<Note>) -> StatusCode {
//!     notes.lock().unwrap().push(note);
//!     StatusCode::CREATED
//! }
//!
//! fn one(State(notes): State<Notes>, Path(index): Path<usize>) -> tayet::Result<Json<Note>> {
//!     let note = notes.lock().unwrap().get(index).cloned();
//!     Ok(Json(note.or_status(StatusCode::NOT_FOUND, "there are not that many notes")?))
//! }
//!
//! let app: Router = Router::new()
//!     .get("/notes", list)
//!     .post("/notes", add)
//!     .get("/notes/{index}", one)
//!     .with_state(Notes::default());
//!
//! // No sockets are needed to test it.
//! let client = TestClient::new(app);
//! assert_eq!(client.post("/notes").json(r#"{"text":"milk"}"#).send().status(), 201);
//! assert_eq!(client.get("/notes/0").send().text(), r#"{"text":"milk"}"#);
//! assert_eq!(client.get("/notes/7").send().status(), 404);
//! assert_eq!(client.get("/notes?skip=x").send().status(), 400);
//! ```
//!
//! | to | there is |
//! | --- | --- |
//! | take parts of a request | [`Path`], [`Query`], [`Json`], [`Form`], [`Cookies`], [`State`], [`RemoteAddr`], [`Bytes`], `String`, ...; [`FromRequestParts`] for your own |
//! | have all of it | `fn(&mut Request) -> ..`, or `&mut Request` as the last argument |
//! | answer | everything that is [`IntoResponse`]: text, [`Json`], [`Html`], [`Redirect`], [`StatusCode`], tuples of these |
//! | fail | [`Result`] with `?`: an [`Error`] is a 500 that is logged; [`OrStatus`] and [`Problem`] say more |
//! | do something for many routes | [`Middleware`]: [`AccessLog`], [`Cors`], [`Compression`], [`Timeout`], [`RequestIds`], ... or a function with [`Next`] |
//! | read a large body, or a form with files | [`BodyStream`], [`Multipart`] |
//! | write a large answer | [`Body::from_writer`] |
//! | serve files | [`Files`] for a directory, [`Response::file`] for one |
//! | hold WebSockets | [`Router::websocket`], [`WebSocketHandler`], [`WebSocketUpgrade`] |
//! | tell many at once | [`Topics`], [`Sse`] |
//! | answer later, from another thread | [`Request::defer`] |
//! | stop, look inside | [`ServerHandle`], [`metrics::Metrics`], [`health`] |
//! | configure | [`Limits`], [`ExecutionModel`], [`Config`] for files and the environment |
//!
//! # Where handlers run
//!
//! By default ([`ExecutionModel::TaskPool`]) a handler runs on the event loop's own thread, which costs nothing; if it blocks,
//! another thread goes on with the loop. Routes that block often are soon handed to a pool straight away, and come back if
//! they become quick. Nothing need be annotated; [`Handler::blocking`] and [`Handler::inline`] are for those who know better.
//!
//! # Not here
//!
//! Handlers that are `async`: where tens of thousands of requests wait at the same time for other services, an asynchronous
//! framework needs less memory.

mod app;
mod automatic;
mod config;
mod content_coding;
mod context;
mod endpoint;
mod error;
mod extract;
pub mod files;
mod handler;
pub mod health;
mod html;
mod into_response;
mod matched_route;
mod method_router;
pub mod metrics;
mod middleware;
pub mod multipart;
mod pattern;
mod problem;
mod redirect;
mod rejection;
mod route_table;
mod router;
mod server;
mod server_handle;
mod settings;
mod sse;
pub mod testing;
mod web_socket;

pub use bytes::Bytes;
pub use cookie::{self, Cookie};
pub use http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
pub use tayet_engine::{
    Address, Body, BodyError, BodyPart, BodyUse, BodyWriter, ClientWatch, CloseCode, Closed,
    DEFAULT_MAX_THREADS, Detached, Event, EventStream, ExecutionModel, Histogram, InvalidAddress,
    InvalidExecutionModel, InvalidIoDriver, InvalidLimit, IoDriver, Limits, Message, MetricsSnapshot,
    PeerAddress, Pin, Publication, Refusal, Replay, Request, RequestBody, RequestBuilder, Responder,
    Response, RouteMetrics, SendError, SendPolicy, Text, TopicError, TopicLimits, Topics, Turn, WebSocket,
    WebSocketError, WebSocketHandler, websocket,
};

pub use config::{Config, ConfigError};
pub use content_coding::{AcceptEncoding, ContentCoding};
pub use context::Context;
pub use error::{Error, OrStatus, Result};
pub use extract::{
    BodyStream, Cookies, Extension, Form, FromRef, FromRequest, FromRequestParts, Host, Json, Path, Query,
    RemoteAddr, Scheme, State, ViaParts, ViaRequest,
};
pub use files::Files;
pub use handler::{Configured, Handler, WithRequest};
pub use html::Html;
pub use into_response::{AppendHeaders, IntoResponse, IntoResponseParts};
pub use matched_route::MatchedRoute;
pub use method_router::{
    MethodRouter, Methods, any, delete, get, head, on, options, patch, post, put, trace,
};
pub use middleware::{
    ACCESS_LOG_FLUSH_TIMEOUT_MS, AccessLog, AccessLogFormat, BodyLimit, CatchPanic, Compression, Cors,
    DEFAULT_ACCESS_LOG_QUEUE_ENTRIES, DEFAULT_MAX_INFLATED_BYTES, DEFAULT_MAX_INLINE_COMPRESSED_BYTES,
    DEFAULT_MIN_COMPRESSED_BYTES, Decompression, DefaultHeaders, ForwardedFields, InvalidAccessLogFormat,
    InvalidNetwork, MAX_REQUEST_ID_BYTES, Middleware, Next, RequestId, RequestIds, ServerTiming, Timeout,
    TrustedProxies,
};
pub use multipart::{Multipart, MultipartError, MultipartLimits, Part};
pub use problem::Problem;
pub use redirect::Redirect;
pub use rejection::{InvalidJson, InvalidText, Rejection};
pub use router::Router;
pub use server::{DEFAULT_LISTEN, Server};
pub use server_handle::ServerHandle;
pub use settings::Settings;
pub use sse::Sse;
pub use web_socket::{Origins, WebSocketConfig, WebSocketUpgrade};

/// All header fields of a request, as an extractor.
///
/// ```
/// use tayet::{Headers, Router};
///
/// let app: Router = Router::new().get("/", |headers: Headers| headers.len().to_string());
/// ```
pub type Headers = HeaderMap;
