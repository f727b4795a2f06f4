//! Answers to browsers that ask on behalf of other sites.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::{Middleware, Next, amend};
use crate::{Request, Response};

/// Lets pages of other sites use the routes inside of it (the CORS protocol of the Fetch standard), and answers the browser's
/// pre-flight requests.
///
/// Without any `allow`, no other site may. Methods are those that the path has, unless they are named. An answer that depends
/// on the request's `Origin` says so in `Vary`.
///
/// ```
/// use std::time::Duration;
/// use tayet::{Cors, Method, Router};
///
/// let cors = Cors::new()
///     .allow_origin("https://app.example")
///     .allow_headers(["content-type"])
///     .allow_credentials()
///     .max_age(Duration::from_secs(600));
/// let app: Router = Router::new().put("/cart", || "kept").layer(cors);
///
/// let client = tayet::testing::TestClient::new(app);
/// let preflight = client
///     .request(Method::OPTIONS, "/cart")
///     .header("Origin", "https://app.example")
///     .header("Access-Control-Request-Method", "PUT")
///     .send();
/// assert_eq!(preflight.status(), 204);
/// assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
/// assert_eq!(preflight.header("access-control-allow-methods"), Some("PUT, OPTIONS"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cors {
    origins: Origins,
    methods: Option<HeaderValue>,
    headers: RequestHeaders,
    exposed: Option<HeaderValue>,
    credentials: bool,
    max_age: Option<HeaderValue>,
}

#[derive(Clone, Default)]
enum Origins {
    #[default]
    None,
    Any,
    List(Vec<String>),
    If(Arc<dyn Fn(&str) -> bool + Send + Sync>),
}

#[derive(Clone, Debug, Default)]
enum RequestHeaders {
    #[default]
    None,
    /// Those that the browser asks for.
    Any,
    List(HeaderValue),
}

impl Cors {
    /// No other site may.
    pub fn new() -> Self {
        Self::default()
    }

    /// Pages of this origin may, such as `https://app.example` or `http://localhost:3000`. May be called for several.
    ///
    /// # Panics
    ///
    /// When it is no origin, or origins are chosen another way already.
    #[track_caller]
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        assert!(
            is_origin(origin),
            "`{origin}` is no origin: a scheme, a host and perhaps a port, without a path"
        );
        match &mut self.origins {
            Origins::None => self.origins = Origins::List(vec![origin.to_ascii_lowercase()]),
            Origins::List(list) => list.push(origin.to_ascii_lowercase()),
            Origins::Any | Origins::If(_) => panic!("origins are chosen another way already"),
        }
        self
    }

    /// Pages of every origin may.
    ///
    /// # Panics
    ///
    /// With credentials: browsers refuse that, since it would let every site act as the user.
    #[track_caller]
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = Origins::Any;
        self.checked()
    }

    /// Pages of an origin for which `is_allowed` says so may.
    #[must_use]
    pub fn allow_origin_if(mut self, is_allowed: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.origins = Origins::If(Arc::new(is_allowed));
        self
    }

    /// They may use these methods. Default: those that the path has.
    #[must_use]
    pub fn allow_methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = Some(joined(methods.into_iter().map(|method| method.to_string())));
        self
    }

    /// They may send these header fields, beside those that need no leave.
    ///
    /// # Panics
    ///
    /// When one is no header name.
    #[track_caller]
    #[must_use]
    pub fn allow_headers<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.headers = RequestHeaders::List(header_names(names));
        self
    }

    /// They may send any header fields.
    #[must_use]
    pub fn allow_any_header(mut self) -> Self {
        self.headers = RequestHeaders::Any;
        self
    }

    /// They may read these header fields of responses, beside those that need no leave.
    ///
    /// # Panics
    ///
    /// When one is no header name.
    #[track_caller]
    #[must_use]
    pub fn expose_headers<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.exposed = Some(header_names(names));
        self
    }

    /// They may act as the user, with cookies.
    ///
    /// # Panics
    ///
    /// With [`Cors::allow_any_origin`].
    #[track_caller]
    #[must_use]
    pub fn allow_credentials(mut self) -> Self {
        self.credentials = true;
        self.checked()
    }

    /// How long browsers may keep the answer to a pre-flight request; whole seconds. Default: their own (5 s).
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(HeaderValue::from(max_age.as_secs()));
        self
    }

    #[track_caller]
    fn checked(self) -> Self {
        assert!(
            !(self.credentials && matches!(self.origins, Origins::Any)),
            "any origin with credentials would let every site act as the user; name the origins"
        );
        self
    }

    /// The value of `Access-Control-Allow-Origin` for a request of this origin.
    fn allowed_origin(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?;
        let is_allowed = match &self.origins {
            Origins::None => false,
            Origins::Any => return Some(HeaderValue::from_static("*")),
            Origins::List(list) => list.iter().any(|allowed| allowed.eq_ignore_ascii_case(text)),
            Origins::If(is_allowed) => is_allowed(text),
        };
        is_allowed.then(|| origin.clone())
    }

    fn add_common(&self, headers: &mut HeaderMap, origin: Option<&HeaderValue>) -> bool {
        if matches!(self.origins, Origins::List(_) | Origins::If(_)) {
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
        let Some(allowed) = origin.and_then(|origin| self.allowed_origin(origin)) else { return false };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if self.credentials {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        true
    }

    fn answer_preflight(&self, request: &Request, next: Next<'_>) -> Response {
        let mut response = Response::empty(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        let is_allowed = self.add_common(headers, request.headers().get(header::ORIGIN));
        headers.append(
            header::VARY,
            HeaderValue::from_static("access-control-request-method, access-control-request-headers"),
        );
        if !is_allowed {
            return response;
        }
        let methods = self.methods.clone().unwrap_or_else(|| {
            joined(next.allowed_methods(request.path()).into_iter().map(|method| method.to_string()))
        });
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        let allowed = match &self.headers {
            RequestHeaders::None => None,
            RequestHeaders::Any => request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned(),
            RequestHeaders::List(names) => Some(names.clone()),
        };
        headers.extend(allowed.map(|names| (header::ACCESS_CONTROL_ALLOW_HEADERS, names)));
        headers.extend(self.max_age.clone().map(|age| (header::ACCESS_CONTROL_MAX_AGE, age)));
        response
    }
}

impl Middleware for Cors {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        if is_preflight(request) {
            return self.answer_preflight(request, next);
        }
        let mut response = next.run(request);
        let origin = request.headers().get(header::ORIGIN).cloned();
        amend(self, request, &mut response, move |cors, response| {
            let headers = response.headers_mut();
            if cors.add_common(headers, origin.as_ref()) {
                let exposed = cors.exposed.clone();
                headers.extend(exposed.map(|names| (header::ACCESS_CONTROL_EXPOSE_HEADERS, names)));
            }
        });
        response
    }
}

fn is_preflight(request: &Request) -> bool {
    *request.method() == Method::OPTIONS
        && request.header("origin").is_some()
        && request.header("access-control-request-method").is_some()
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return text == "null" };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_authority =
        rest.parse::<http::uri::Authority>().is_ok_and(|authority| !authority.as_str().contains('@'));
    is_scheme && is_authority
}

#[track_caller]
fn header_names<'n>(names: impl IntoIterator<Item = &'n str>) -> HeaderValue {
    let names = names.into_iter().map(|name| match HeaderName::try_from(name) {
        Ok(name) => name.as_str().to_owned(),
        Err(_) => panic!("`{name}` is no header name"),
    });
    joined(names)
}

fn joined(texts: impl Iterator<Item = String>) -> HeaderValue {
    HeaderValue::try_from(texts.collect::<Vec<_>>().join(", ")).expect("names and methods are tokens")
}

impl fmt::Debug for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Any => f.write_str("Any"),
            Self::List(list) => list.fmt(f),
            Self::If(_) => f.write_str("If(..)"),
        }
    }
}
