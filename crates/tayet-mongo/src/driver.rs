//! The driver, and the one thread that it runs on.

use std::sync::Arc;
use std::time::Duration;

use mongodb::Client;
use mongodb::event::EventHandler;
use mongodb::options::{ClientOptions, ConnectionString};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::stats::Stats;
use crate::{MongoConfig, MongoError, MongoErrorKind, Result};

/// Threads that look up the names of hosts; each ends as soon as it has nothing to do for a second.
const MAX_LOOKUP_THREADS: usize = 2;
const LOOKUP_THREAD_IDLE: Duration = Duration::from_secs(1);

/// The driver's client on a runtime of our own.
///
/// The driver's blocking face starts a runtime with a thread for each core, and cannot be told to stop waiting. One thread is
/// enough for what is done here: callers wait on their own threads, and read and write their documents there.
#[derive(Debug)]
pub(crate) struct Driver {
    client: Client,
    /// Most connections to each server.
    connections: u32,
    /// Until it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Driver {
    /// Starts the thread. Connections are made when they are needed.
    pub(crate) fn start(
        uri: ConnectionString,
        config: &MongoConfig,
        connections: u32,
        stats: &Arc<Stats>,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(MAX_LOOKUP_THREADS)
            .thread_keep_alive(LOOKUP_THREAD_IDLE)
            .thread_name("tayet-mongo")
            .enable_all()
            .build()
            .map_err(|error| MongoError::because(MongoErrorKind::Failed, error))?;
        // Made on its thread, which has the memory for it: whoever asks first would need it but once.
        let (config, stats) = (config.clone(), Arc::clone(stats));
        let made = runtime.spawn(async move {
            let mut options = ClientOptions::parse(uri).await?;
            complete(&mut options, &config, connections, stats);
            let connections = options.max_pool_size.unwrap_or(connections);
            Ok::<_, MongoError>((Client::with_options(options)?, connections))
        });
        let panicked = |error| MongoError::because(MongoErrorKind::Failed, error);
        let (client, connections) = runtime.block_on(made).map_err(panicked)??;
        let handle = runtime.handle().clone();
        Ok(Self { client, connections, runtime: Some(runtime), handle })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections as usize
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not waiting for the lookup of a name that may take long.
            runtime.shutdown_background();
        }
    }
}

/// Fills in what the URI does not say.
fn complete(options: &mut ClientOptions, config: &MongoConfig, connections: u32, stats: Arc<Stats>) {
    let or = |time: &mut Option<Duration>, ms: u64| _ = time.get_or_insert(Duration::from_millis(ms));
    or(&mut options.connect_timeout, config.connect_timeout_ms);
    or(&mut options.server_selection_timeout, config.server_selection_timeout_ms);
    or(&mut options.heartbeat_freq, config.heartbeat_ms);
    or(&mut options.max_idle_time, config.max_idle_ms);
    options.max_pool_size.get_or_insert(connections);
    options.app_name.get_or_insert_with(|| "tayet".to_owned());
    options.cmap_event_handler = Some(EventHandler::callback(move |event| stats.hear(&event)));
}
