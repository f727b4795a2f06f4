//! What every server that is started by a command is told.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use tayet::{AccessLogFormat, Address, Config, ExecutionModel, IoDriver};

/// How a server listens and runs. What has no flag is taken from the environment, such as TAYET_MAX_BODY_BYTES, and what is not
/// there either from the file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServerOptions {
    /// Where to listen: 127.0.0.1:8080, :8080 for all interfaces, or unix:/run/tayet.sock; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,

    /// Which threads run handlers: task-pool, thread-pool:THREADS or inline
    #[arg(long, value_name = "MODEL")]
    execution: Option<ExecutionModel>,

    /// How sockets are driven: auto, epoll or io_uring
    #[arg(long, value_name = "DRIVER")]
    io: Option<IoDriver>,

    /// How many event loops there are
    #[arg(long, value_name = "COUNT")]
    loops: Option<NonZeroUsize>,

    /// A TOML file with settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Write a line for every request: common, combined or json
    #[arg(long, value_name = "FORMAT")]
    access_log: Option<AccessLogFormat>,
}

impl ServerOptions {
    /// The defaults of a command, with the file's settings in their place, those of the environment in theirs, and those of the
    /// command line in theirs.
    pub(crate) fn config(&self, defaults: Config) -> tayet::Result<Config> {
        let mut config = defaults;
        if let Some(file) =
            self.config.clone().or_else(|| std::env::var_os("TAYET_CONFIG").map(PathBuf::from))
        {
            config = config.with_file(file)?;
        }
        config = config.with_environment()?;
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
            ("access_log", self.access_log.map(|format| format.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
    }
}
