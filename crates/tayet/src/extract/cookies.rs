//! Cookies, read and set.

use std::convert::Infallible;

use cookie::{Cookie, CookieJar};
use http::{HeaderValue, header};

use crate::{Context, FromRequestParts, IntoResponse, IntoResponseParts, Request, Response};

/// The cookies of a request, and as a part of the response, the changes to them (RFC 6265).
///
/// Values are percent-encoded on their way out and decoded on their way in. What is not a cookie is passed over.
///
/// ```
/// use tayet::{Cookie, Cookies, Router};
///
/// fn visit(mut cookies: Cookies) -> (Cookies, String) {
///     let visits = cookies.get("visits").and_then(|count| count.parse::<u32>().ok()).unwrap_or(0) + 1;
///     cookies.add(Cookie::build(("visits", visits.to_string())).path("/").http_only(true));
///     (cookies, format!("visit {visits}"))
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().get("/", visit));
/// let response = client.get("/").header("Cookie", "a=b; visits=6").send();
/// assert_eq!(response.text(), "visit 7");
/// assert_eq!(response.headers()["set-cookie"], "visits=7; HttpOnly; Path=/");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cookies(CookieJar);

impl Cookies {
    /// The value of a cookie.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Cookie::value)
    }

    /// All cookies.
    pub fn iter(&self) -> impl Iterator<Item = &Cookie<'static>> {
        self.0.iter()
    }

    /// Sets a cookie.
    pub fn add(&mut self, cookie: impl Into<Cookie<'static>>) {
        self.0.add(cookie);
    }

    /// Has the client forget a cookie. Its path and domain must be those that it was set with.
    pub fn remove(&mut self, cookie: impl Into<Cookie<'static>>) {
        self.0.remove(cookie);
    }
}

impl<S> FromRequestParts<S> for Cookies {
    type Rejection = Infallible;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
        let mut jar = CookieJar::new();
        for field in request.headers().get_all(header::COOKIE) {
            let cookies =
                field.to_str().into_iter().flat_map(|field| Cookie::split_parse_encoded(field.to_owned()));
            cookies.flatten().for_each(|cookie| jar.add_original(cookie));
        }
        Ok(Self(jar))
    }
}

impl IntoResponseParts for Cookies {
    fn add_to(self, mut response: Response) -> Response {
        for cookie in self.0.delta() {
            match HeaderValue::try_from(cookie.encoded().to_string()) {
                Ok(value) => drop(response.headers_mut().append(header::SET_COOKIE, value)),
                Err(_) => tracing::error!("the cookie {:?} cannot be sent", cookie.name()),
            }
        }
        response
    }
}

impl IntoResponse for Cookies {
    fn into_response(self) -> Response {
        self.add_to(Response::default())
    }
}
