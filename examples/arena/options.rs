//! What the arena is told on its command line.

use std::path::PathBuf;

use clap::Parser;
use tayet::Config;
use tayet_mongo::MongoConfig;

use crate::server_options::ServerOptions;

/// An application of small, exact endpoints for benchmarks and for tests over the wire.
#[derive(Debug, Parser)]
#[command(name = "arena", version)]
pub(crate) struct Options {
    #[command(flatten)]
    server: ServerOptions,

    /// Expect a PROXY protocol header at the start of every connection
    #[arg(long)]
    proxy_protocol: bool,

    /// Proxies whose X-Forwarded-* fields are believed: networks and addresses, separated by commas
    #[arg(long, value_name = "CIDR")]
    trusted_proxies: Option<String>,

    /// Serve the files of this directory at /static
    #[arg(long = "static", value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,

    /// Compress with this level of gzip, from 1 to 9, where /json-comp is asked for gzip
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub(crate) gzip_level: Option<u32>,

    /// Where the offices are kept; it is connected to when the first of them is asked for
    #[arg(long, value_name = "URI", default_value = "mongodb://127.0.0.1:27017")]
    pub(crate) mongodb_uri: String,

    /// How long a query may take
    #[arg(long, value_name = "MS", default_value_t = MongoConfig::default().query_timeout_ms)]
    mongodb_query_timeout_ms: u64,
}

impl Options {
    /// What the database may cost.
    pub(crate) fn mongo_config(&self) -> MongoConfig {
        MongoConfig { query_timeout_ms: self.mongodb_query_timeout_ms, ..MongoConfig::default() }
    }

    /// The environment's settings, with those of the command line in their place.
    pub(crate) fn config(&self) -> tayet::Result<Config> {
        let mut config = self.server.config(Config::new())?;
        if self.proxy_protocol {
            config = config.with("proxy_protocol", "true")?;
        }
        if let Some(networks) = &self.trusted_proxies {
            config = config.with("trusted_proxies", networks)?;
        }
        Ok(config)
    }
}
