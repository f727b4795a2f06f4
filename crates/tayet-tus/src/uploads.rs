//! Uploads as a part of an application.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tayet::metrics::Metrics;
use tayet::{
    BodyUse, Context, Cors, Handler, IntoResponse, Json, Method, Request, Response, Result, Router, Settings,
};

use crate::asked::{Protocol, Target};
use crate::hooks::{Action, Hooks};
use crate::protocol::{ietf, plain, range, tus};
use crate::stats::Stats;
use crate::stats_collector::StatsCollector;
use crate::sweeper::{self, Sweeper};
use crate::upload_error::UploadError;
use crate::workshop::Workshop;
use crate::{DiskStore, Finished, Store, Upload, UploadId, UploadLimits, Webhook};

/// The fields that a page of another site may read.
const EXPOSED: [&str; 20] = [
    "location",
    "range",
    "retry-after",
    "tus-checksum-algorithm",
    "tus-extension",
    "tus-max-size",
    "tus-resumable",
    "tus-version",
    "upload-complete",
    "upload-concat",
    "upload-defer-length",
    "upload-draft-interop-version",
    "upload-expires",
    "upload-incomplete",
    "upload-length",
    "upload-limit",
    "upload-metadata",
    "upload-offset",
    "accept-patch",
    "content-range",
];

/// How long a browser may keep the answer to its pre-flight request.
const PREFLIGHT_MAX_AGE_SECONDS: u64 = 86_400;

/// Uploads as a part of an application: nest it where uploads go.
///
/// Below its prefix it answers tus 1.0.0 with all extensions, the IETF's draft, ranges, multipart forms and `PUT`; `stats`
/// answers figures. What is finished lies in the directory by its name.
///
/// ```
/// use tayet::{Router, testing::TestClient};
/// use tayet_tus::Uploads;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// let app = Router::new().nest("/files", Uploads::new(path)?);
///
/// let client = TestClient::new(app);
/// let stored = client.put("/files/loom.txt").body("warp and weft").send();
/// assert_eq!(stored.status(), 201);
/// assert_eq!(std::fs::read(path.join("loom.txt"))?, b"warp and weft");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Uploads {
    store: Box<dyn Store>,
    limits: UploadLimits,
    hooks: Hooks,
    stats: Arc<Stats>,
    lists_finished: bool,
    cors: Cors,
}

impl Uploads {
    /// Uploads into a directory, which is made if it is not there. Pages of any site may upload, without cookies
    /// ([`Uploads::cors`]).
    ///
    /// # Errors
    ///
    /// When the directory cannot be made.
    pub fn new(directory: impl Into<PathBuf>) -> std::io::Result<Self> {
        Ok(Self::with_store(DiskStore::new(directory)?))
    }

    /// Uploads into any store.
    pub fn with_store(store: impl Store) -> Self {
        let cors = Cors::new()
            .allow_any_origin()
            .allow_any_header()
            .allow_methods([
                Method::POST,
                Method::HEAD,
                Method::PATCH,
                Method::PUT,
                Method::DELETE,
                Method::GET,
            ])
            .expose_headers(EXPOSED)
            .max_age(Duration::from_secs(PREFLIGHT_MAX_AGE_SECONDS));
        Self {
            store: Box::new(store),
            limits: UploadLimits::default(),
            hooks: Hooks::default(),
            stats: Arc::new(Stats::new()),
            lists_finished: false,
            cors,
        }
    }

    /// What uploads may cost.
    #[must_use]
    pub fn limits(mut self, limits: UploadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Which pages of other sites may upload, in place of any.
    #[must_use]
    pub fn cors(mut self, cors: Cors) -> Self {
        self.cors = cors;
        self
    }

    /// Lists the latest finished uploads in the figures, with their names. Default: no, since whoever may read the figures
    /// reads them.
    #[must_use]
    pub fn list_finished(mut self) -> Self {
        self.lists_finished = true;
        self
    }

    /// Adds the figures to those that `/metrics` answers: `uploads_created_total`, `uploads_active`,
    /// `uploads_completed_total`, `uploads_failed_total`, `uploads_expired_total`, `uploads_terminated_total`,
    /// `uploads_received_bytes_total`, `uploads_stored_bytes`, `uploads_webhooks_delivered_total` and
    /// `uploads_webhooks_lost_total`.
    #[must_use]
    pub fn metrics(self, metrics: &Metrics) -> Self {
        let collector = StatsCollector::new(Arc::clone(&self.stats));
        metrics.register(|registry| registry.register_collector(Box::new(collector)));
        self
    }

    /// Asks before anything else whether a request may do what it wants to; an error is the answer.
    ///
    /// ```
    /// use tayet::{Error, StatusCode};
    /// use tayet_tus::{Action, Uploads};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let uploads = Uploads::new(directory.path())?.authorize(|request, action| match action {
    ///     Action::Look(_) => Ok(()),
    ///     _ if request.header("authorization") == Some("Bearer weaver") => Ok(()),
    ///     _ => Err(Error::new(StatusCode::UNAUTHORIZED, "who are you?")),
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn authorize(mut self, hook: impl Fn(&Request, Action) -> Result + Send + Sync + 'static) -> Self {
        self.hooks.authorize.push(Box::new(hook));
        self
    }

    /// Is asked before an upload is created; an error is the answer, and nothing is created.
    #[must_use]
    pub fn on_create(mut self, hook: impl Fn(&Upload, &Request) -> Result + Send + Sync + 'static) -> Self {
        self.hooks.on_create.push(Box::new(hook));
        self
    }

    /// Is told with every mebibyte how many bytes of a sequence have come. The upload waits for it.
    #[must_use]
    pub fn on_progress(mut self, hook: impl Fn(&Upload, u64) + Send + Sync + 'static) -> Self {
        self.hooks.on_progress.push(Box::new(hook));
        self
    }

    /// Is told of each upload that has come whole, before its client is. After a crash just then, it is told by the next
    /// program: at least once, and seldom twice.
    #[must_use]
    pub fn on_complete(mut self, hook: impl Fn(&Upload, &Finished) + Send + Sync + 'static) -> Self {
        self.hooks.on_complete.push(Box::new(hook));
        self
    }

    /// Is told of each upload that was removed, by its client or since it expired.
    #[must_use]
    pub fn on_terminate(mut self, hook: impl Fn(UploadId) + Send + Sync + 'static) -> Self {
        self.hooks.on_terminate.push(Box::new(hook));
        self
    }

    /// Asks and tells another program of all of these, by HTTP.
    ///
    /// ```
    /// use tayet_tus::{Uploads, Webhook};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// let webhook = Webhook::new("http://127.0.0.1:9000/uploads", b"two hundred warp threads")?;
    /// let uploads = Uploads::new(directory.path())?.webhook(&webhook)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the system gives no thread for it.
    pub fn webhook(self, webhook: &Webhook) -> std::io::Result<Self> {
        let stats = Arc::clone(&self.stats);
        webhook.attach(self, stats)
    }
}

/// Puts right what a crash left, and begins to look for uploads that expire.
impl<S: Send + Sync + 'static> From<Uploads> for Router<S> {
    fn from(uploads: Uploads) -> Self {
        let interval = Duration::from_secs(uploads.limits.sweep_interval_seconds);
        let workshop = Arc::new(Workshop::new(
            uploads.store,
            uploads.limits,
            uploads.hooks,
            uploads.stats,
            uploads.lists_finished,
        ));
        sweeper::recover(&workshop);
        sweeper::sweep(&workshop, std::time::SystemTime::now());
        let sweeper = (!interval.is_zero()).then(|| Sweeper::start(&workshop, interval));
        let sweeper = sweeper.and_then(|started| {
            started.inspect_err(|error| tracing::error!("uploads will not expire: {error}")).ok()
        });
        let answer = UploadHandler { workshop: Arc::clone(&workshop), _sweeper: sweeper.map(Arc::new) };
        let stats = move |request: &mut Request| -> Response {
            match workshop.authorize(request, Action::Stats) {
                Ok(()) => Json(workshop.figures()).into_response(),
                Err(error) => error.into_response(),
            }
        };
        Self::new()
            .any("/", answer.clone())
            .any("/{name}", answer.clone())
            .get("/stats", stats)
            // The collection's path with a slash behind it.
            .fallback(answer)
            .layer(uploads.cors)
    }
}

#[derive(Clone)]
struct UploadHandler {
    workshop: Arc<Workshop>,
    _sweeper: Option<Arc<Sweeper>>,
}

/// Marks [`UploadHandler`] as a handler.
struct ViaUploads;

impl<S> Handler<ViaUploads, S> for UploadHandler {
    fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        let Some(target) = target(request, context) else {
            return UploadError::NotFound.into_response();
        };
        let workshop = &self.workshop;
        match Protocol::of(request, &target) {
            Protocol::Tus => tus::answer(workshop, request, &target),
            Protocol::Ietf(version) => ietf::answer(workshop, request, &target, version),
            Protocol::Range => range::answer(workshop, request, &target),
            Protocol::Form => plain::answer_form(workshop, request),
            Protocol::Put => plain::answer_put(workshop, request, &target),
        }
    }

    fn settings(&self) -> Settings {
        Settings { body: Some(BodyUse::Streamed), ..Settings::default() }
    }
}

/// What a request is about; `None` where it is too far below the collection.
fn target(request: &Request, context: Context<'_, impl Sized>) -> Option<Target> {
    if let Some(name) = context.raw_parameter(request, "name") {
        return Some(Target::Item(name.to_owned()));
    }
    // The fallback has what no route has: the collection with a slash behind it, and what is deeper.
    let is_collection = match context.route().pattern() {
        Some(pattern) => !pattern.ends_with("**"),
        None => request.path() == "/",
    };
    is_collection.then_some(Target::Collection)
}
