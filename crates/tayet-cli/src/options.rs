//! What the command is told.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tayet::{AccessLogFormat, Address, Config, ExecutionModel};

use crate::uploads::{DemoUploadOptions, UploadLimitOptions};

/// Tayet, an application server for code that blocks.
///
/// Without a command it serves the demo at http://127.0.0.1:8080.
#[derive(Debug, Parser)]
#[command(name = "tayet", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    demo: DemoOptions,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a page that shows what the server does
    Demo(DemoOptions),
    /// Receive files into a directory, by a page and by every resumable protocol
    Uploads(UploadsOptions),
}

/// How the demo is served.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DemoOptions {
    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) uploads: DemoUploadOptions,
}

/// How files are received.
#[derive(Clone, Debug, Args)]
pub(crate) struct UploadsOptions {
    /// Where files go; unfinished ones are in .uploads there
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) limits: UploadLimitOptions,
}

/// How a server runs. What has no flag is taken from the environment, such as TAYET_MAX_BODY_BYTES, and what is not there
/// either from the file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServerOptions {
    /// Where to listen: 127.0.0.1:8080, :8080 for all interfaces, or unix:/run/tayet.sock; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,

    /// Which threads run handlers: task-pool, thread-pool:THREADS or inline
    #[arg(long, value_name = "MODEL")]
    execution: Option<ExecutionModel>,

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

impl Options {
    /// What is to be done.
    pub(crate) fn command(self) -> Command {
        self.command.unwrap_or(Command::Demo(self.demo))
    }
}

impl ServerOptions {
    /// The file's settings, with those of the environment in their place, and those of the command line in theirs.
    pub(crate) fn config(&self) -> tayet::Result<Config> {
        let mut config = Config::new();
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
            ("loops", self.loops.map(|loops| loops.to_string())),
            ("access_log", self.access_log.map(|format| format.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)))
    }
}
