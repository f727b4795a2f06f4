//! Header fields for every response.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Middleware, Next, amend};
use crate::{Request, Response};

/// Adds header fields to every response that does not have them.
///
/// ```
/// use tayet::{DefaultHeaders, Router};
///
/// let app: Router = Router::new()
///     .get("/", || "hello")
///     .get("/framed", || ([("x-frame-options", "SAMEORIGIN")], "hello"))
///     .layer(DefaultHeaders::new().with("x-frame-options", "DENY").with("referrer-policy", "no-referrer"));
///
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.get("/").send().header("x-frame-options"), Some("DENY"));
/// assert_eq!(client.get("/framed").send().header("x-frame-options"), Some("SAMEORIGIN"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultHeaders {
    fields: HeaderMap,
}

impl DefaultHeaders {
    /// No fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with this field too.
    ///
    /// # Panics
    ///
    /// When the name or the value cannot stand in a header.
    #[must_use]
    pub fn with<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName, Error: fmt::Debug>,
        V: TryInto<HeaderValue, Error: fmt::Debug>,
    {
        let name = name.try_into().expect("a valid header name");
        self.fields.append(name, value.try_into().expect("a valid header value"));
        self
    }

    fn add_missing(&self, headers: &mut HeaderMap) {
        for name in
            self.fields.keys().filter(|name| !headers.contains_key(*name)).cloned().collect::<Vec<_>>()
        {
            for value in self.fields.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
    }
}

impl Middleware for DefaultHeaders {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        let mut response = next.run(request);
        amend(self, request, &mut response, |defaults, response| {
            defaults.add_missing(response.headers_mut())
        });
        response
    }
}
