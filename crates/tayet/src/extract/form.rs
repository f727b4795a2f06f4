//! Forms.

use http::Method;
use serde::de::DeserializeOwned;
use tayet_engine::BodyUse;

use super::text::from_urlencoded;
use crate::{Context, FromRequest, Rejection, Request};

/// A form: the body of type `application/x-www-form-urlencoded` (415 for another), or for `GET` and `HEAD` the query. 422
/// where it is not of the wanted form, which is as for [`Query`](crate::Query).
///
/// ```
/// use serde::Deserialize;
/// use tayet::{Form, Redirect, Router};
///
/// #[derive(Deserialize)]
/// struct Login {
///     name: String,
/// }
///
/// fn log_in(Form(login): Form<Login>) -> Redirect {
///     Redirect::to(format!("/people/{}", login.name))
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().post("/login", log_in));
/// let response = client.post("/login").form("name=ada").send();
/// assert_eq!(response.headers()["location"], "/people/ada");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form<T>(pub T);

const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

impl<S, T: DeserializeOwned> FromRequest<S> for Form<T> {
    const BODY: BodyUse = BodyUse::Buffered;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            let query = request.query().unwrap_or_default();
            return from_urlencoded(query.as_bytes()).map(Self).map_err(Rejection::Form);
        }
        let content_type = request.header("content-type");
        let media_type = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !media_type.trim().eq_ignore_ascii_case(MEDIA_TYPE) {
            return Err(Rejection::MediaType {
                expected: MEDIA_TYPE,
                found: content_type.map(str::to_owned),
            });
        }
        from_urlencoded(&request.bytes()?).map(Self).map_err(Rejection::Form)
    }
}
