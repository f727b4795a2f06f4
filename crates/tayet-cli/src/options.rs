//! What the command is told.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tayet::{HeaderValue, Uri};

use crate::server_options::ServerOptions;
use crate::uploads::{DemoUploadOptions, UploadLimitOptions, WebhookOptions};

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
    /// Serve the files of a directory, at http://127.0.0.1:8080 unless told otherwise
    Serve(ServeOptions),
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
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    #[command(flatten)]
    pub(crate) limits: UploadLimitOptions,

    #[command(flatten)]
    pub(crate) webhook: WebhookOptions,

    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

/// How files are served.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeOptions {
    /// The directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,

    /// Answer paths that are not there with this file of the directory, for applications that find their way in the browser
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "index.html")]
    pub(crate) spa: Option<String>,

    /// Show what directories without an index.html hold
    #[arg(long)]
    pub(crate) list: bool,

    /// How long browsers may keep files, in seconds, or a whole value of Cache-Control
    #[arg(long, value_name = "RULE", value_parser = cache_control, default_value = "no-cache")]
    pub(crate) cache: HeaderValue,

    /// Compress text while it is sent; app.js.br, app.js.zst or app.js.gz beside app.js is sent as it is
    #[arg(long)]
    pub(crate) compress: bool,

    /// Let pages of this origin, or of all, read the files; may be given several times
    #[arg(long, value_name = "ORIGIN", num_args = 0..=1, require_equals = true, default_missing_value = ANY_ORIGIN, value_parser = origin)]
    pub(crate) cors: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

/// What stands for all origins.
pub(crate) const ANY_ORIGIN: &str = "*";

impl Options {
    /// What is to be done.
    pub(crate) fn command(self) -> Command {
        self.command.unwrap_or(Command::Demo(self.demo))
    }
}

fn cache_control(text: &str) -> Result<HeaderValue, String> {
    let value = match text.parse::<u32>() {
        Ok(seconds) => format!("max-age={seconds}"),
        Err(_) => text.to_owned(),
    };
    HeaderValue::try_from(value).map_err(|error| error.to_string())
}

fn origin(text: &str) -> Result<String, String> {
    let is_origin = text.parse::<Uri>().is_ok_and(|uri| {
        uri.scheme().is_some() && uri.authority().is_some_and(|authority| text.ends_with(authority.as_str()))
    });
    if is_origin || text == ANY_ORIGIN {
        Ok(text.to_owned())
    } else {
        Err("an origin is a scheme and a host, and perhaps a port: https://app.example".to_owned())
    }
}
