//! Event loops, execution models and connections of Tayet.
//!
//! A loop multiplexes its connections and is a value: a thread drives it, lends it away while it runs a handler, and
//! loses it if the handler overruns. Applications use the `tayet` crate, which builds on this one; see ARCHITECTURE.md
//! for the life of one request.

mod answer;
mod body;
mod body_writer;
mod engine;
mod execution;
mod limits;
mod mailbox;
mod metrics;
mod peer;
pub mod problem;
mod request;
mod request_body;
mod responder;
mod response;
mod service;
mod slot;
mod sync;

pub use body::Body;
pub use body_writer::BodyWriter;
pub use engine::{Engine, EngineConfig};
pub use execution::{DEFAULT_MAX_THREADS, ExecutionModel, InvalidExecutionModel};
pub use limits::{InvalidLimit, Limits};
pub use metrics::{Histogram, MetricsSnapshot, RouteMetrics};
pub use request::{Request, RequestBuilder};
pub use request_body::{BodyError, RequestBody};
pub use responder::Responder;
pub use response::Response;
pub use service::{BodyUse, Captures, Match, Pin, Route, RouteId, Service};
pub use tayet_http1::{Head, Refusal};
pub use tayet_net::{Address, InvalidAddress, PeerAddress};
