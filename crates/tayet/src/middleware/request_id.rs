//! A name for each request.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderName, HeaderValue};

use super::{Middleware, Next, amend};
use crate::{Context, FromRequestParts, Rejection, Request, Response};

/// Names each request by the client's (or proxy's) `X-Request-Id` if that is fit to be one, else by a new one, and says it in
/// the response.
///
/// As an extractor, the name. [`AccessLog::json`](crate::AccessLog::json) logs it too.
///
/// ```
/// use tayet::{RequestId, RequestIds, Router};
///
/// let app: Router = Router::new().get("/", |id: RequestId| format!("this is {id}")).layer(RequestIds);
/// let client = tayet::testing::TestClient::new(app);
///
/// let response = client.get("/").header("X-Request-Id", "order-66").send();
/// assert_eq!(response.text(), "this is order-66");
/// assert_eq!(response.header("x-request-id"), Some("order-66"));
/// assert_eq!(client.get("/").send().header("x-request-id").unwrap().len(), 32);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestIds;

/// The name of a request, given by [`RequestIds`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

/// Characters of a name that is taken from a request; a longer one is replaced.
pub const MAX_REQUEST_ID_BYTES: usize = 128;

const FIELD: HeaderName = HeaderName::from_static("x-request-id");

impl Middleware for RequestIds {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        let asked = request.header(FIELD.as_str()).filter(|id| is_fit(id));
        let id = asked.map_or_else(RequestId::generate, |id| RequestId(id.into()));
        request.extensions_mut().insert(id.clone());
        let mut response = next.run(request);
        amend(&id, request, &mut response, |id, response| {
            if let Ok(value) = HeaderValue::from_str(&id.0) {
                response.headers_mut().insert(FIELD, value);
            }
        });
        response
    }
}

/// Letters, digits and the signs that usual schemes use: nothing that a log or a header could misread.
fn is_fit(id: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+/=@".contains(&byte);
    (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.bytes().all(is_fit)
}

impl RequestId {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Unlike all others of this process for certain, and unlike those of other processes in all likelihood.
    fn generate() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{:016x}{count:016x}", *PROCESS).into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<S> FromRequestParts<S> for RequestId {
    type Rejection = Rejection;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        let id = request.extensions().and_then(|extensions| extensions.get::<Self>());
        id.cloned().ok_or(Rejection::Unprovided("a request id (the layer `RequestIds`)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_fit() {
        for id in ["a", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "a.b_c:d+e/f=@", &"x".repeat(128)] {
            assert!(is_fit(id), "{id}");
        }
        for id in ["", "a b", "a\"b", "a\nb", "é", &"x".repeat(129)] {
            assert!(!is_fit(id), "{id}");
        }
    }

    #[test]
    fn generated_names_differ() {
        assert_ne!(RequestId::generate(), RequestId::generate());
    }
}
