//! The route that a request found.

use std::sync::Arc;

use crate::{Context, FromRequestParts, Rejection, Request};

/// The route that a request found; as an extractor, a cheap clone of it.
///
/// ```
/// use tayet::{MatchedRoute, Router};
///
/// let app: Router = Router::new().get("/users/{id}", |route: MatchedRoute| route.label().to_owned());
/// let response = tayet::testing::TestClient::new(app).get("/users/7").send();
/// assert_eq!(response.text(), "GET /users/{id}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedRoute(Arc<Description>);

#[derive(Debug, PartialEq, Eq)]
struct Description {
    label: String,
    pattern: Option<String>,
    parameters: Vec<Option<String>>,
}

impl MatchedRoute {
    pub(crate) fn new<'p>(
        label: String,
        pattern: Option<&str>,
        parameters: impl Iterator<Item = Option<&'p str>>,
    ) -> Self {
        let pattern = pattern.map(str::to_owned);
        let parameters = parameters.map(|name| name.map(str::to_owned)).collect();
        Self(Arc::new(Description { label, pattern, parameters }))
    }

    /// Its name in metrics and logs, such as `GET /users/{id}`.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Its pattern, such as `/users/{id}`; none for what the router answers by itself.
    pub fn pattern(&self) -> Option<&str> {
        self.0.pattern.as_deref()
    }

    /// The names of its parameters in their order; `None` for `*` and `**`.
    pub fn parameters(&self) -> impl Iterator<Item = Option<&str>> {
        self.0.parameters.iter().map(Option::as_deref)
    }
}

impl<S> FromRequestParts<S> for MatchedRoute {
    type Rejection = Rejection;

    fn from_request_parts(_: &mut Request, context: Context<'_, S>) -> Result<Self, Rejection> {
        Ok(context.route().clone())
    }
}
