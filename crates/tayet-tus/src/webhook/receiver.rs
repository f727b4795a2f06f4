//! The program at the other end of a webhook.

use std::time::Duration;

use tayet::{Error, StatusCode, Uri};
use ureq::http::header;
use ureq::{Agent, Body, http};

use super::WebhookLimits;
use super::deliveries::Delivery;
use super::event::Event;
use super::signature::WebhookSignature;
use crate::UnixSeconds;

/// Most that is read of an answer that refuses an upload.
const MAX_REFUSAL_BYTES: u64 = 4 * 1024;
/// Most of it that the client is told.
const MAX_REFUSAL_CHARACTERS: usize = 1_000;
const USER_AGENT: &str = "tayet";

/// The program at the other end of a webhook.
#[derive(Debug)]
pub(crate) struct Receiver {
    agent: Agent,
    url: Uri,
    signature: WebhookSignature,
    create_timeout: Duration,
    delivery_timeout: Duration,
}

impl Receiver {
    pub(crate) fn new(url: Uri, signature: WebhookSignature, limits: &WebhookLimits) -> Self {
        // A connection of its own for each event: one that was kept may be closed just when the next is sent.
        let config = Agent::config_builder()
            .max_idle_connections(0)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(USER_AGENT);
        Self {
            agent: config.build().into(),
            url,
            signature,
            create_timeout: Duration::from_millis(limits.create_timeout_ms),
            delivery_timeout: Duration::from_millis(limits.delivery_timeout_ms),
        }
    }

    /// Asks whether an upload may be created.
    pub(crate) fn ask(&self, event: &Event) -> tayet::Result {
        match self.post(event, self.create_timeout) {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) if answer.status().is_client_error() => Err(refusal(answer)),
            Ok(answer) => Err(undecided(&format!("it answered {}", answer.status()))),
            Err(error) => Err(undecided(&error.to_string())),
        }
    }

    /// Sends an event.
    pub(crate) fn deliver(&self, event: &Event) -> Delivery {
        let status = match self.post(event, self.delivery_timeout) {
            Ok(answer) => answer.status(),
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        match status {
            _ if status.is_success() => Delivery::Done,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Delivery::Failed(status.to_string())
            }
            _ if status.is_server_error() => Delivery::Failed(status.to_string()),
            _ => Delivery::Refused(status),
        }
    }

    fn post(&self, event: &Event, timeout: Duration) -> Result<http::Response<Body>, ureq::Error> {
        let signature = self.signature.sign(UnixSeconds::now(), &event.body);
        let request = self.agent.post(&self.url).config().timeout_global(Some(timeout)).build();
        request
            .header(header::CONTENT_TYPE, "application/json")
            .header("tayet-signature", signature)
            .send(&event.body[..])
    }
}

/// What the receiver says against an upload.
fn refusal(mut answer: http::Response<Body>) -> Error {
    let status = answer.status();
    let text = answer.body_mut().with_config().limit(MAX_REFUSAL_BYTES).read_to_string().unwrap_or_default();
    let detail = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|problem| Some(problem.get("detail")?.as_str()?.to_owned()))
        .unwrap_or(text);
    Error::new(status, detail.trim().chars().take(MAX_REFUSAL_CHARACTERS).collect::<String>())
}

fn undecided(reason: &str) -> Error {
    tracing::error!("a webhook did not say whether an upload may be created: {reason}");
    Error::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "it cannot be said just now whether this upload may be created",
    )
}
