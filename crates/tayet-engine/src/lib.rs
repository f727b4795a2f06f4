//! Event loops, execution models and connections of Tayet.
//!
//! A loop multiplexes its connections and is a value: a thread drives it, lends it away while it runs a handler, and
//! loses it if the handler overruns. Applications use the `tayet` crate, which builds on this one; see ARCHITECTURE.md
//! for the life of one request.

mod alarm;
mod answer;
mod body;
mod body_part;
mod body_pipe;
mod body_plan;
mod body_wire;
mod body_writer;
mod bulkhead;
mod call_clock;
mod census;
mod channel;
mod client_watch;
mod clock;
mod connection;
mod counters;
mod deferral;
mod detached;
mod download;
mod engine;
mod event_loop;
mod event_stream;
mod exchange;
mod execution;
mod fan_out;
mod flusher;
mod frugal;
mod grace;
mod held;
mod home;
mod interim;
mod job_queue;
mod kept;
mod limits;
mod mailbox;
#[cfg(not(loom))]
#[doc(hidden)]
pub mod measured;
mod media_type;
mod metrics;
mod monitor;
mod opening;
mod peer;
mod peer_handle;
mod pool;
mod pool_size;
pub mod problem;
mod proxy_header;
mod publication;
mod rate;
mod report;
mod request;
mod request_body;
mod responder;
mod response;
mod route_class;
mod route_classes;
mod seat;
mod served_file;
mod service;
mod session;
mod shared;
#[cfg(all(test, not(loom)))]
mod simulation;
mod slot;
mod socket_event;
#[cfg(all(test, not(loom)))]
mod span;
mod spare_requests;
mod streaming;
mod sync;
mod topics;
mod trial;
mod turn;
mod turn_queue;
mod web_socket;
mod worker;

pub use body::Body;
pub use body_part::BodyPart;
pub use body_writer::BodyWriter;
pub use client_watch::ClientWatch;
pub use detached::Detached;
pub use engine::{Bound, Engine, EngineConfig};
pub use event_stream::{Event, EventStream};
pub use execution::{DEFAULT_MAX_THREADS, ExecutionModel, InvalidExecutionModel};
pub use limits::{InvalidLimit, Limits};
pub use media_type::media_type;
pub use metrics::{Histogram, MetricsSnapshot, RouteMetrics};
pub use publication::Publication;
pub use request::{Request, RequestBuilder};
pub use request_body::{BodyError, RequestBody};
pub use responder::Responder;
pub use response::Response;
pub use served_file::ServedFile;
pub use service::{BodyUse, Captures, Match, Pin, Route, RouteId, Service};
pub use tayet_http1::{Head, Refusal, is_same_text};
pub use tayet_net::{Address, InvalidAddress, InvalidIoDriver, IoDriver, Listener, PeerAddress};
pub use tayet_websocket as websocket;
pub use tayet_websocket::{CloseCode, DeflateAgreement, Message, Text};
pub use topics::{Replay, TopicError, TopicLimits, Topics};
pub use turn::Turn;
pub use web_socket::{
    Closed, SendError, SendPolicy, WebSocket, WebSocketError, WebSocketHandler, WebSocketOptions,
};
