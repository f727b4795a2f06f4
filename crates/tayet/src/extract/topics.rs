//! The server's topics, for handlers that publish.

use std::convert::Infallible;

use tayet_engine::Topics;

use crate::{Context, FromRequestParts, Request};

/// ```
/// use tayet::{Router, Topics};
///
/// fn announce(topics: Topics, text: String) -> String {
///     let members = topics.publish("news", text).unwrap_or(0);
///     format!("{members} have been told")
/// }
///
/// let app: Router = Router::new().route("/news", tayet::post(announce));
/// # let client = tayet::testing::TestClient::new(app);
/// # assert_eq!(client.post("/news").body("rain").send().text(), "0 have been told");
/// ```
impl<S> FromRequestParts<S> for Topics {
    type Rejection = Infallible;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
        Ok(request.topics())
    }
}
