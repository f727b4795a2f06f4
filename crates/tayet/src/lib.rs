//! An application server for code that blocks.

mod app;
mod automatic;
mod config;
mod context;
mod endpoint;
mod error;
mod extract;
mod handler;
pub mod health;
mod html;
mod into_response;
mod matched_route;
mod method_router;
pub mod metrics;
mod middleware;
mod pattern;
mod problem;
mod redirect;
mod rejection;
mod route_table;
mod router;
mod server;
mod server_handle;
mod settings;
pub mod testing;

pub use bytes::Bytes;
pub use cookie::{self, Cookie};
pub use http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
pub use tayet_engine::{
    Address, Body, BodyError, BodyUse, BodyWriter, DEFAULT_MAX_THREADS, ExecutionModel, Histogram,
    InvalidAddress, InvalidExecutionModel, InvalidLimit, Limits, MetricsSnapshot, PeerAddress, Pin, Refusal,
    Request, RequestBody, RequestBuilder, Responder, Response, RouteMetrics,
};

pub use config::{Config, ConfigError};
pub use context::Context;
pub use error::{Error, OrStatus, Result};
pub use extract::{
    BodyStream, Cookies, Extension, Form, FromRef, FromRequest, FromRequestParts, Host, Json, Path, Query,
    RemoteAddr, Scheme, State, ViaParts, ViaRequest,
};
pub use handler::{Configured, Handler, WithRequest};
pub use html::Html;
pub use into_response::{AppendHeaders, IntoResponse, IntoResponseParts};
pub use matched_route::MatchedRoute;
pub use method_router::{
    MethodRouter, Methods, any, delete, get, head, on, options, patch, post, put, trace,
};
pub use middleware::{
    AccessLog, AccessLogFormat, BodyLimit, CatchPanic, Cors, DEFAULT_ACCESS_LOG_QUEUE_ENTRIES,
    DefaultHeaders, ForwardedFields, InvalidAccessLogFormat, InvalidNetwork, MAX_REQUEST_ID_BYTES,
    Middleware, Next, RequestId, RequestIds, ServerTiming, Timeout, TrustedProxies,
};
pub use problem::Problem;
pub use redirect::Redirect;
pub use rejection::{InvalidJson, InvalidText, Rejection};
pub use router::Router;
pub use server::{DEFAULT_LISTEN, Server};
pub use server_handle::ServerHandle;
pub use settings::Settings;
