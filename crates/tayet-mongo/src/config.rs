//! What the database may cost.

use serde::Deserialize;
use tayet::ExecutionModel;

use crate::BreakerConfig;

/// What the database may cost. What its URI says of the same (`maxPoolSize`, `connectTimeoutMS`, ...) prevails.
///
/// ```
/// use tayet_mongo::{Mongo, MongoConfig};
///
/// let config = MongoConfig { query_timeout_ms: 2_000, ..MongoConfig::default() };
/// let mongo = Mongo::with_config("mongodb://127.0.0.1/shop", config)?;
/// # Ok::<(), tayet_mongo::MongoError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MongoConfig {
    /// Most connections to each server. Default: as many as handlers can run at the same time, but at most
    /// [`MAX_FOLLOWING_CONNECTIONS`].
    pub max_connections: Option<u32>,
    /// Most queries that wait for a connection; past it they are refused (503). Default: 300, which with the connections leaves
    /// a server some hundred of its 512 threads for requests that need no database.
    pub max_waiting_queries: usize,
    /// Most queries that wait for a connection where handlers return them ([`Collection::later`](crate::Collection::later)),
    /// among which all others are counted; past it they are refused (503). No thread waits for them. Default: 4,096, as many as
    /// the server's queue has.
    pub max_returned_queries: usize,
    /// How long a query may take, its wait for a connection included, where the request has no earlier deadline. Default:
    /// 10,000 ms.
    pub query_timeout_ms: u64,
    /// How long it may take to connect. Default: 2,000 ms.
    pub connect_timeout_ms: u64,
    /// How long a query waits for a server to be found. Default: 2,000 ms.
    pub server_selection_timeout_ms: u64,
    /// How often a server is asked whether it is well, at least 500. One that does not answer for this long and
    /// [`connect_timeout_ms`](Self::connect_timeout_ms) loses its connections. Default: 5,000 ms.
    pub heartbeat_ms: u64,
    /// A connection that has not been used for this long is closed. Those that were used last are used first, so that the
    /// others age: the pool shrinks one by one. Default: 60,000 ms.
    pub max_idle_ms: u64,
    /// When a server that fails is left alone.
    pub breaker: BreakerConfig,
}

impl Default for MongoConfig {
    fn default() -> Self {
        Self {
            max_connections: None,
            max_waiting_queries: 300,
            max_returned_queries: 4_096,
            query_timeout_ms: 10_000,
            connect_timeout_ms: 2_000,
            server_selection_timeout_ms: 2_000,
            heartbeat_ms: 5_000,
            max_idle_ms: 60_000,
            breaker: BreakerConfig::default(),
        }
    }
}

/// Most connections to each server where they follow the server's execution model.
pub const MAX_FOLLOWING_CONNECTIONS: u32 = 100;

/// As many connections as handlers can run at the same time.
pub(crate) fn connections_for(execution: ExecutionModel, loops: usize) -> u32 {
    let handlers = match execution {
        ExecutionModel::TaskPool { max_threads } => max_threads,
        ExecutionModel::ThreadPool { threads } => threads,
        ExecutionModel::Inline => loops,
    };
    u32::try_from(handlers).unwrap_or(u32::MAX).clamp(1, MAX_FOLLOWING_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connections_follow_the_execution_model() {
        for (execution, connections) in [
            (ExecutionModel::default(), 100),
            (ExecutionModel::TaskPool { max_threads: 12 }, 12),
            (ExecutionModel::ThreadPool { threads: 8 }, 8),
            (ExecutionModel::ThreadPool { threads: 1_000 }, 100),
            (ExecutionModel::Inline, 2),
        ] {
            assert_eq!(connections_for(execution, 2), connections, "{execution}");
        }
    }
}
