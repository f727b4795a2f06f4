//! What handlers may return.

use std::borrow::Cow;
use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use tayet_engine::BodyError;

use crate::{Body, Problem, Rejection, Request, Response};

/// What a handler may return.
///
/// | type | response |
/// | --- | --- |
/// | `&'static str`, `String`, `Cow<'static, str>` | `text/plain; charset=utf-8` |
/// | [`Bytes`], `Vec<u8>`, `&'static [u8]`, [`Body`] | `application/octet-stream` |
/// | [`Json`](crate::Json), [`Html`](crate::Html) | what they say |
/// | `()` | 200 without a body |
/// | [`StatusCode`] | that status without a body |
/// | [`HeaderMap`], `[(name, value); N]` | 200 with these header fields and without a body |
/// | [`Redirect`](crate::Redirect), [`Problem`], [`Response`] | what they say |
/// | [`Error`](crate::Error), [`Rejection`], [`BodyError`] | a [`Problem`] |
/// | `Result<T, E>` | that of either |
/// | `Option<T>` | `None` is a 404 |
/// | `(part, .., T)` | `T`'s with [parts](IntoResponseParts) such as a status and header fields |
///
/// ```
/// use tayet::{IntoResponse, Json, StatusCode};
///
/// fn create() -> impl IntoResponse {
///     (StatusCode::CREATED, [("location", "/things/7")], Json(7))
/// }
///
/// let response = create().into_response();
/// assert_eq!(response.status(), 201);
/// assert_eq!(response.headers()["location"], "/things/7");
/// assert_eq!(response.headers()["content-type"], "application/json");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be turned into a response",
    label = "not a response",
    note = "a handler returns text, bytes, `Json`, `Html`, `StatusCode`, `Response`, a `Result` of these, or a tuple of parts and one of these"
)]
pub trait IntoResponse {
    /// The response.
    fn into_response(self) -> Response;

    /// The response to this request: what a handler's call ends with. For what answers later
    /// ([`Request::defer`]), and then returns a response that goes nowhere.
    fn respond_to(self, _: &mut Request) -> Response
    where
        Self: Sized,
    {
        self.into_response()
    }
}

/// What may stand before the last element of a tuple that is returned: a status ([`StatusCode`]), header fields
/// (`[(name, value); N]` and [`HeaderMap`], which replace those of the same name, or [`AppendHeaders`]),
/// [`Cookies`](crate::Cookies), or an `Option` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of a response",
    note = "before the last element of a tuple stand `StatusCode`, `[(name, value); N]`, `HeaderMap`, `AppendHeaders` or `Cookies`"
)]
pub trait IntoResponseParts {
    /// The response with this part.
    fn add_to(self, response: Response) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::default()
    }
}

impl IntoResponse for StatusCode {
    fn into_response(self) -> Response {
        Response::empty(self)
    }
}

impl IntoResponse for HeaderMap {
    fn into_response(self) -> Response {
        self.add_to(Response::default())
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>, const COUNT: usize> IntoResponse for [(N, V); COUNT] {
    fn into_response(self) -> Response {
        self.add_to(Response::default())
    }
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        Rejection::Body(self).into_response()
    }
}

impl IntoResponse for Infallible {
    fn into_response(self) -> Response {
        match self {}
    }
}

macro_rules! response_of_content {
    ($content_type:literal: $($content:ty),*) => {
        $(impl IntoResponse for $content {
            fn into_response(self) -> Response {
                static CONTENT_TYPE: HeaderValue = HeaderValue::from_static($content_type);
                Response::of_static_type(&CONTENT_TYPE, self)
            }
        })*
    };
}

response_of_content!("text/plain; charset=utf-8": &'static str, String);
response_of_content!("application/octet-stream": Bytes, Vec<u8>, &'static [u8], Body);

impl<const LENGTH: usize> IntoResponse for &'static [u8; LENGTH] {
    fn into_response(self) -> Response {
        self.as_slice().into_response()
    }
}

impl IntoResponse for Cow<'static, str> {
    fn into_response(self) -> Response {
        match self {
            Cow::Borrowed(text) => text.into_response(),
            Cow::Owned(text) => text.into_response(),
        }
    }
}

impl<T: IntoResponse, E: IntoResponse> IntoResponse for Result<T, E> {
    fn into_response(self) -> Response {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => error.into_response(),
        }
    }

    fn respond_to(self, request: &mut Request) -> Response {
        match self {
            Ok(value) => value.respond_to(request),
            Err(error) => error.respond_to(request),
        }
    }
}

impl<T: IntoResponse> IntoResponse for Option<T> {
    fn into_response(self) -> Response {
        match self {
            Some(value) => value.into_response(),
            None => Problem::new(StatusCode::NOT_FOUND).into_response(),
        }
    }

    fn respond_to(self, request: &mut Request) -> Response {
        match self {
            Some(value) => value.respond_to(request),
            None => None::<T>.into_response(),
        }
    }
}

impl IntoResponseParts for () {
    fn add_to(self, response: Response) -> Response {
        response
    }
}

impl IntoResponseParts for StatusCode {
    fn add_to(self, response: Response) -> Response {
        response.with_status(self)
    }
}

impl IntoResponseParts for HeaderMap {
    fn add_to(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        self.keys().for_each(|name| drop(headers.remove(name)));
        let mut last = None;
        for (name, value) in self {
            last = name.or(last);
            if let Some(name) = &last {
                headers.append(name, value);
            }
        }
        response
    }
}

impl<P: IntoResponseParts> IntoResponseParts for Option<P> {
    fn add_to(self, response: Response) -> Response {
        match self {
            Some(part) => part.add_to(response),
            None => response,
        }
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>, const COUNT: usize> IntoResponseParts for [(N, V); COUNT] {
    fn add_to(self, response: Response) -> Response {
        add_fields(response, self, |headers, name, value| drop(headers.insert(name, value)))
    }
}

/// Header fields that leave others of the same name: `(AppendHeaders([("link", "</a>")]), body)`.
#[derive(Clone, Copy, Debug)]
pub struct AppendHeaders<I>(pub I);

impl<N: AsRef<str>, V: AsRef<[u8]>, I: IntoIterator<Item = (N, V)>> IntoResponseParts for AppendHeaders<I> {
    fn add_to(self, response: Response) -> Response {
        add_fields(response, self.0, |headers, name, value| _ = headers.append(name, value))
    }
}

/// A field that cannot stand in a header is the application's fault: 500.
fn add_fields<N: AsRef<str>, V: AsRef<[u8]>>(
    mut response: Response,
    fields: impl IntoIterator<Item = (N, V)>,
    add: impl Fn(&mut HeaderMap, HeaderName, HeaderValue),
) -> Response {
    for (name, value) in fields {
        let parsed =
            HeaderName::try_from(name.as_ref()).ok().zip(HeaderValue::from_bytes(value.as_ref()).ok());
        let Some((field, value)) = parsed else {
            tracing::error!("a handler returned the header field {:?}, which cannot be sent", name.as_ref());
            return Problem::new(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        };
        add(response.headers_mut(), field, value);
    }
    response
}

macro_rules! response_of_tuple {
    ($($part:ident),+; $last:ident) => {
        impl<$($part: IntoResponseParts,)+ $last: IntoResponse> IntoResponse for ($($part,)+ $last) {
            #[allow(non_snake_case)]
            fn into_response(self) -> Response {
                let ($($part,)+ $last) = self;
                let response = $last.into_response();
                $(let response = $part.add_to(response);)+
                response
            }
        }
    };
}

response_of_tuple!(P1; T);
response_of_tuple!(P1, P2; T);
response_of_tuple!(P1, P2, P3; T);
response_of_tuple!(P1, P2, P3, P4; T);
response_of_tuple!(P1, P2, P3, P4, P5; T);

#[cfg(test)]
mod tests {
    use super::*;

    fn content_type(response: impl IntoResponse) -> String {
        response.into_response().headers()["content-type"].to_str().unwrap().to_owned()
    }

    #[test]
    fn content_has_its_type() {
        assert_eq!(content_type("a"), "text/plain; charset=utf-8");
        assert_eq!(content_type(Cow::Borrowed("a")), "text/plain; charset=utf-8");
        assert_eq!(content_type(vec![1]), "application/octet-stream");
        assert_eq!(content_type(b"a"), "application/octet-stream");
        assert_eq!(content_type(([("content-type", "image/png")], vec![1])), "image/png");
    }

    #[test]
    fn nothing_and_a_status_have_no_content() {
        for response in [().into_response(), StatusCode::ACCEPTED.into_response()] {
            assert!(response.headers().is_empty());
            assert_eq!(response.body().length(), Some(0));
        }
    }

    #[test]
    fn none_is_not_found() {
        assert_eq!(None::<&str>.into_response().status(), 404);
        assert_eq!(Some("x").into_response().status(), 200);
        assert_eq!(Err::<&str, _>(StatusCode::GONE).into_response().status(), 410);
        assert_eq!(Err::<&str, _>(BodyError::TooSlow).into_response().status(), 408);
        assert_eq!([("a", "1")].into_response().headers()["a"], "1");
    }

    #[test]
    fn parts_replace_or_append() {
        let mut map = HeaderMap::new();
        map.append("a", HeaderValue::from_static("3"));
        map.append("a", HeaderValue::from_static("4"));
        let response =
            (StatusCode::IM_A_TEAPOT, AppendHeaders([("b", "5")]), map, [("a", "1"), ("b", "2")], "x");
        let response = response.into_response();
        let values = |name| response.headers().get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(response.status(), 418);
        assert_eq!(values("a"), ["1"]);
        assert_eq!(values("b"), ["2"]);
        let response = ([("b", "2")], AppendHeaders([("b", "5")]), None::<StatusCode>, "x").into_response();
        assert_eq!(response.headers().get_all("b").iter().count(), 2);
    }

    #[test]
    fn a_field_that_cannot_be_sent_is_a_500() {
        for field in [("a b", "x"), ("a", "x\r\ny")] {
            assert_eq!(([field], "x").into_response().status(), 500);
        }
    }
}
