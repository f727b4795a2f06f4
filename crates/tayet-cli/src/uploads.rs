//! Receiving files into a directory.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tayet::metrics::Metrics;
use tayet::{Config, Error, Router, Server, health};
use tayet_tus::{DiskStore, Fsync, UploadLimits, Uploads, Webhook, WebhookLimits};

use crate::options::UploadsOptions;
use crate::{listening, upload_page};

/// Bytes of one upload to the demo.
const DEMO_MAX_UPLOAD_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of all uploads to the demo.
const DEMO_MAX_STORED_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// What waits for the disk of each upload: many of them are expected.
const STREAM_BUFFER_BYTES: &str = "65536";

/// Serves a page for uploads into a directory until it is told to end.
pub(crate) fn run(options: &UploadsOptions) -> tayet::Result {
    let metrics = Metrics::new();
    let limits = &options.limits;
    let uploads =
        open(&options.directory, limits.limits(), limits.fsync, !limits.no_digests)?.metrics(&metrics);
    let webhook = options.webhook.webhook()?;
    let uploads = match &webhook {
        Some(webhook) => uploads.webhook(webhook)?,
        None => uploads,
    };
    let app = Router::new()
        .get("/", upload_page::page)
        .get("/style.css", crate::demo::page::style)
        .merge(upload_page::assets())
        .nest("/files", uploads)
        .get("/metrics", metrics)
        .get("/healthz", health::live)
        .get("/readyz", health::ready);
    let config = Config::new().with("stream_buffer_bytes", STREAM_BUFFER_BYTES)?;
    let server = Server::new(app).config(&options.server.config(config)?)?;
    let ended = listening::run(server, "open it in a browser, and drop files on it; Ctrl-C ends it");
    if let Some(webhook) = webhook {
        webhook.drain();
    }
    ended
}

fn open(directory: &Path, limits: UploadLimits, fsync: FsyncPolicy, digests: bool) -> io::Result<Uploads> {
    let mut store = DiskStore::new(directory)?.fsync(fsync.into());
    if digests {
        store = store.digests();
    }
    Ok(Uploads::with_store(store).limits(limits).list_finished())
}

/// Where the demo's uploads go.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DemoUploadOptions {
    /// Where uploads go; without it, to tayet-uploads in the system's temporary directory
    #[arg(long = "uploads", value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

impl DemoUploadOptions {
    pub(crate) fn uploads(&self) -> io::Result<Uploads> {
        let default = || std::env::temp_dir().join("tayet-uploads");
        let limits = UploadLimits {
            max_upload_bytes: DEMO_MAX_UPLOAD_BYTES,
            max_stored_bytes: DEMO_MAX_STORED_BYTES,
            ..UploadLimits::default()
        };
        open(&self.directory.clone().unwrap_or_else(default), limits, FsyncPolicy::Complete, true)
    }
}

/// What uploads may cost.
#[derive(Clone, Debug, Args)]
pub(crate) struct UploadLimitOptions {
    /// Bytes of one file; 0 for no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_upload_bytes: u64,

    /// Bytes of all files; 0 for no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_stored_bytes: u64,

    /// Rate of all uploads of one client; 0 for no limit
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    max_client_bytes_per_second: u64,

    /// Uploads of one client at the same time; 0 for no limit
    #[arg(long, value_name = "COUNT", default_value_t = UploadLimits::default().max_client_uploads)]
    max_client_uploads: usize,

    /// How long an unfinished upload is kept when nothing comes; 0 for ever
    #[arg(long, value_name = "SECONDS", default_value_t = UploadLimits::default().lifetime_seconds)]
    lifetime_seconds: u64,

    /// How often it is looked for uploads that have expired
    #[arg(long, value_name = "SECONDS", default_value_t = UploadLimits::default().sweep_interval_seconds)]
    sweep_interval_seconds: u64,

    /// How long a request may be silent before another takes its upload over
    #[arg(long, value_name = "MS", default_value_t = UploadLimits::default().takeover_silence_ms)]
    takeover_silence_ms: u64,

    /// When bytes are made to outlast a loss of power
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = FsyncPolicy::Complete)]
    fsync: FsyncPolicy,

    /// Do not compute the SHA-256 that the list of finished files shows
    #[arg(long)]
    no_digests: bool,
}

/// Who else is told of uploads.
#[derive(Clone, Debug, Args)]
pub(crate) struct WebhookOptions {
    /// Ask this address (http://...) whether each upload may be, and tell it what becomes of it
    #[arg(long, value_name = "URL", requires = "webhook_secret_file")]
    webhook: Option<String>,

    /// The file with the secret under which that is signed; white space around it does not count
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_secret_file: Option<PathBuf>,

    /// How long the address may take to say whether an upload may be
    #[arg(long, value_name = "MS", requires = "webhook", default_value_t = WebhookLimits::default().create_timeout_ms)]
    webhook_create_timeout_ms: u64,
}

impl WebhookOptions {
    fn webhook(&self) -> tayet::Result<Option<Webhook>> {
        let (Some(url), Some(file)) = (&self.webhook, &self.webhook_secret_file) else { return Ok(None) };
        let secret = std::fs::read(file)
            .map_err(|error| Error::from(error).with_detail(format!("{} cannot be read", file.display())))?;
        let limits =
            WebhookLimits { create_timeout_ms: self.webhook_create_timeout_ms, ..WebhookLimits::default() };
        Ok(Some(Webhook::new(url, secret.trim_ascii())?.limits(limits)))
    }
}

/// As [`Fsync`], by the names that the command takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FsyncPolicy {
    /// When the system gets to it
    Never,
    /// Before a file is said to be complete
    Complete,
    /// Before any offset is said
    Append,
}

impl From<FsyncPolicy> for Fsync {
    fn from(policy: FsyncPolicy) -> Self {
        match policy {
            FsyncPolicy::Never => Self::Never,
            FsyncPolicy::Complete => Self::OnComplete,
            FsyncPolicy::Append => Self::OnEveryAppend,
        }
    }
}

impl UploadLimitOptions {
    fn limits(&self) -> UploadLimits {
        UploadLimits {
            max_upload_bytes: self.max_upload_bytes,
            max_stored_bytes: self.max_stored_bytes,
            max_client_bytes_per_second: self.max_client_bytes_per_second,
            max_client_uploads: self.max_client_uploads,
            lifetime_seconds: self.lifetime_seconds,
            sweep_interval_seconds: self.sweep_interval_seconds,
            takeover_silence_ms: self.takeover_silence_ms,
            ..UploadLimits::default()
        }
    }
}
