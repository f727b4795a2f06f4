//! Telling another program about uploads, by HTTP.

mod deliveries;
mod event;
mod receiver;
mod signature;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tayet::Uri;

pub use self::signature::WebhookSignature;

use self::deliveries::Deliveries;
use self::event::{Event, News, Origin};
use self::receiver::Receiver;
use crate::Uploads;
use crate::progress_pace::ProgressPace;
use crate::stats::Stats;

/// Fewest bytes of a secret: those of a key that nobody guesses.
pub const MIN_WEBHOOK_SECRET_BYTES: usize = 16;

/// Another program that is told about uploads, each time by a `POST` of JSON; see [`Uploads::webhook`].
///
/// | `type` | when | what it has beside `id`, `type`, `at` and `upload` | its answer |
/// | --- | --- | --- | --- |
/// | `create` | before an upload is created, whose client waits | `request`: `method`, `path`, `remote` | 2xx lets it be. A 4xx refuses it: the client gets that status and the answer's text (the `detail` of a JSON problem). Anything else, or none, is a 503 for the client |
/// | `progress` | now and then while bytes come | `received_bytes` | counts for nothing; it is not sent again |
/// | `complete` | when an upload has come whole | `finished`: `name`, `length`, `sha256`, `at` | 2xx; else it is sent again |
/// | `terminate` | when an upload was removed or has expired | in place of `upload` only `upload_id` | 2xx; else it is sent again |
///
/// `id` is the event's own: who gets one twice, since its answer was lost, knows it again. Events that follow an upload's
/// creation come in their order, one at a time, and wait in memory: those of a program that is killed are lost, but a
/// completion that it did not get to is told by the next one ([`Uploads::on_complete`]).
///
/// The field `Tayet-Signature` says that it is from here: [`WebhookSignature`].
#[derive(Clone)]
pub struct Webhook {
    url: Uri,
    secret: Vec<u8>,
    limits: WebhookLimits,
    /// Of each of the uploads that it is told of.
    deliveries: Arc<Mutex<Vec<Arc<Deliveries>>>>,
}

/// How long a webhook waits for what, and how much waits for it. Each field is one limit: its unit stands in its name, its
/// default beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookLimits {
    /// How long the answer to a `create` may take; past it the client gets a 503. Default 5,000 ms.
    pub create_timeout_ms: u64,
    /// How long the answer to any other event may take; past it the event is sent again. Default 10,000 ms.
    pub delivery_timeout_ms: u64,
    /// Shortest time between two `progress` events of one upload. Default 1,000 ms.
    pub progress_interval_ms: u64,
    /// Events that wait to be sent; `progress` is left out once half of it is full. Default 1,000.
    pub queue_capacity: usize,
    /// How long an upload that is complete or removed waits for room in the queue; past it its event is lost. Default 1,000 ms.
    pub queue_wait_ms: u64,
    /// How long it takes until an event is sent again for the first time; twice as long each time after. Default 500 ms.
    pub first_retry_ms: u64,
    /// Longest time until an event is sent again. Default 30,000 ms.
    pub max_retry_ms: u64,
    /// How long it is tried; past it the event is lost. Default 3,600 s.
    pub give_up_after_seconds: u64,
    /// How long [`Webhook::drain`] waits for events that wait to be sent. Default 5,000 ms.
    pub drain_ms: u64,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            create_timeout_ms: 5_000,
            delivery_timeout_ms: 10_000,
            progress_interval_ms: 1_000,
            queue_capacity: 1_000,
            queue_wait_ms: 1_000,
            first_retry_ms: 500,
            max_retry_ms: 30_000,
            give_up_after_seconds: 3_600,
            drain_ms: 5_000,
        }
    }
}

impl Webhook {
    /// A program that listens at this address, and knows this secret.
    ///
    /// ```
    /// use tayet_tus::Webhook;
    ///
    /// let secret = b"two hundred warp threads";
    /// assert!(Webhook::new("http://127.0.0.1:9000/uploads", secret).is_ok());
    /// assert!(Webhook::new("ftp://127.0.0.1/uploads", secret).is_err());
    /// assert!(Webhook::new("http://127.0.0.1:9000/uploads", b"short").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When the address is not one of `http:` (for `https:`, put a proxy between), or the secret has fewer than
    /// [`MIN_WEBHOOK_SECRET_BYTES`].
    pub fn new(url: &str, secret: impl Into<Vec<u8>>) -> Result<Self, InvalidWebhook> {
        let url = url.parse::<Uri>().map_err(|_| InvalidWebhook::Url)?;
        if url.scheme_str() != Some("http") || url.authority().is_none() {
            return Err(InvalidWebhook::Url);
        }
        let secret = secret.into();
        if secret.len() < MIN_WEBHOOK_SECRET_BYTES {
            return Err(InvalidWebhook::Secret);
        }
        Ok(Self { url, secret, limits: WebhookLimits::default(), deliveries: Arc::default() })
    }

    /// How long it waits for what.
    #[must_use]
    pub fn limits(mut self, limits: WebhookLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Ends it, once the server has: sends what still waits, for [`WebhookLimits::drain_ms`] at most. A program that ends
    /// without it loses what waits.
    pub fn drain(&self) {
        self.all_deliveries().drain(..).for_each(|deliveries| deliveries.drain());
    }

    /// Begins to tell it of these uploads.
    pub(crate) fn attach(&self, uploads: Uploads, stats: Arc<Stats>) -> std::io::Result<Uploads> {
        let url = self.url.clone();
        let receiver = Arc::new(Receiver::new(url, WebhookSignature::new(&self.secret), &self.limits));
        let pace = ProgressPace::new(self.limits.progress_interval_ms);
        let deliver = Arc::clone(&receiver);
        let deliveries =
            Arc::new(Deliveries::start(self.limits.clone(), stats, move |event| deliver.deliver(event))?);
        self.all_deliveries().push(Arc::clone(&deliveries));
        let (of_progress, of_completion) = (Arc::clone(&deliveries), Arc::clone(&deliveries));
        Ok(uploads
            .on_create(move |upload, request| {
                let origin = Origin::of(request);
                receiver.ask(&Event::new(&News::Create { upload: upload.into(), request: origin })?)
            })
            .on_progress(move |upload, received_bytes| {
                if pace.is_due(upload.id) {
                    of_progress.offer(&News::Progress { upload: upload.into(), received_bytes });
                }
            })
            .on_complete(move |upload, finished| {
                of_completion.hand_over(&News::Complete { upload: upload.into(), finished });
            })
            .on_terminate(move |id| deliveries.hand_over(&News::Terminate { upload_id: id })))
    }

    fn all_deliveries(&self) -> MutexGuard<'_, Vec<Arc<Deliveries>>> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("url", &self.url)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Why there can be no such webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidWebhook {
    /// Its address is not one of `http:`.
    Url,
    /// Its secret has fewer than [`MIN_WEBHOOK_SECRET_BYTES`].
    Secret,
}

impl fmt::Display for InvalidWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("a webhook's address begins with http:// and a host"),
            Self::Secret => write!(f, "a webhook's secret has at least {MIN_WEBHOOK_SECRET_BYTES} bytes"),
        }
    }
}

impl std::error::Error for InvalidWebhook {}
