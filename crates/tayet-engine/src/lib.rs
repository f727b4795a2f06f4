//! Event loops, execution models and connections of Tayet.
//!
//! A loop multiplexes its connections and is a value: a thread drives it, lends it away while it runs a handler, and
//! loses it if the handler overruns. Applications use the `tayet` crate, which builds on this one; see ARCHITECTURE.md
//! for the life of one request.

mod answer;
mod body;
mod body_plan;
mod body_wire;
mod body_writer;
mod clock;
mod connection;
mod counters;
mod doze;
mod engine;
mod event_loop;
mod exchange;
mod execution;
mod limits;
mod mailbox;
mod metrics;
mod monitor;
mod peer;
mod pool;
pub mod problem;
mod proxy_header;
mod rate;
mod request;
mod request_body;
mod responder;
mod response;
mod route_class;
mod service;
mod shared;
#[cfg(all(test, not(loom)))]
mod simulation;
mod slot;
mod sync;
mod worker;

pub use body::Body;
pub use body_writer::BodyWriter;
pub use engine::{Bound, Engine, EngineConfig};
pub use execution::{DEFAULT_MAX_THREADS, ExecutionModel, InvalidExecutionModel};
pub use limits::{InvalidLimit, Limits};
pub use metrics::{Histogram, MetricsSnapshot, RouteMetrics};
pub use request::{Request, RequestBuilder};
pub use request_body::{BodyError, RequestBody};
pub use responder::Responder;
pub use response::Response;
pub use service::{BodyUse, Captures, Match, Pin, Route, RouteId, Service};
pub use tayet_http1::{Head, Refusal};
pub use tayet_net::{Address, InvalidAddress, InvalidIoDriver, IoDriver, PeerAddress};
