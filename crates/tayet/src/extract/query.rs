//! The query.

use serde::de::DeserializeOwned;

use super::text::from_urlencoded;
use crate::{Context, FromRequestParts, Rejection, Request};

/// The query, as a structure by the names of its parameters, a map, or a `Vec<(String, String)>`. 400 where it is not of
/// that form.
///
/// A parameter that is there more than once fits a sequence. An absent query is an empty one; `Option<Query<T>>` tells the
/// two apart.
///
/// ```
/// use serde::Deserialize;
/// use tayet::{Query, Router};
///
/// #[derive(Deserialize)]
/// struct Search {
///     q: String,
///     #[serde(default)]
///     tag: Vec<String>,
///     page: Option<u32>,
/// }
///
/// fn search(Query(Search { q, tag, page }): Query<Search>) -> String {
///     format!("{q} {tag:?} {page:?}")
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().get("/search", search));
/// assert_eq!(client.get("/search?q=a+b&tag=x&tag=y").send().text(), r#"a b ["x", "y"] None"#);
/// assert_eq!(client.get("/search?page=1").send().status(), 400);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<T>(pub T);

impl<S, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Rejection;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        let query = request.query().unwrap_or_default();
        from_urlencoded(query.as_bytes()).map(Self).map_err(Rejection::Query)
    }

    /// `None` without a query.
    fn optional_from_request_parts(
        request: &mut Request,
        context: Context<'_, S>,
    ) -> Result<Option<Self>, Rejection> {
        match request.query() {
            None => Ok(None),
            Some(_) => Self::from_request_parts(request, context).map(Some),
        }
    }
}
