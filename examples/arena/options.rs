//! What the arena is told on its command line.

use std::num::NonZeroUsize;

use clap::Parser;
use tayet::{Address, Config, ExecutionModel, IoDriver};

/// An application of small, exact endpoints for benchmarks and for tests over the wire.
///
/// Limits and all that has no flag are taken from the environment, such as TAYET_MAX_BODY_BYTES.
#[derive(Debug, Parser)]
#[command(name = "arena", version)]
pub(crate) struct Options {
    /// Where to listen: 127.0.0.1:8080, :8080 for all interfaces, or unix:/run/tayet.sock; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,

    /// Which threads run handlers: task-pool, thread-pool:THREADS or inline
    #[arg(long, value_name = "MODEL")]
    execution: Option<ExecutionModel>,

    /// How many event loops there are
    #[arg(long, value_name = "COUNT")]
    loops: Option<NonZeroUsize>,

    /// How sockets are driven: auto, epoll or io_uring
    #[arg(long, value_name = "DRIVER")]
    io: Option<IoDriver>,

    /// Expect a PROXY protocol header at the start of every connection
    #[arg(long)]
    proxy_protocol: bool,

    /// Proxies whose X-Forwarded-* fields are believed: networks and addresses, separated by commas
    #[arg(long, value_name = "CIDR")]
    trusted_proxies: Option<String>,
}

impl Options {
    /// The environment's settings, with those of the command line in their place.
    pub(crate) fn config(&self) -> tayet::Result<Config> {
        let mut config = Config::new().with_environment()?;
        for (name, text) in self.settings() {
            config = config.with(name, &text)?;
        }
        Ok(config)
    }

    fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let listen = self.listen.iter().map(Address::to_string).collect::<Vec<_>>().join(",");
        [
            ("listen", Some(listen).filter(|listen| !listen.is_empty())),
            ("execution", self.execution.map(|model| model.to_string())),
            ("io", self.io.map(|io| io.to_string())),
            ("loops", self.loops.map(|loops| loops.to_string())),
            ("proxy_protocol", self.proxy_protocol.then(|| true.to_string())),
            ("trusted_proxies", self.trusted_proxies.clone()),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
    }
}
