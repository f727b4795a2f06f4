//! What handlers may take from a request.

mod body_bytes;
mod body_stream;
mod client;
mod cookies;
mod extension;
mod form;
mod head;
mod json;
mod path;
mod query;
mod state;
mod text;
mod topics;

use tayet_engine::BodyUse;

pub use body_stream::BodyStream;
pub use client::{Host, RemoteAddr, Scheme};
pub use cookies::Cookies;
pub use extension::Extension;
pub use form::Form;
pub use json::Json;
pub use path::Path;
pub use query::Query;
pub use state::{FromRef, State};

use crate::{Context, IntoResponse, Request};

/// What a handler may take from a request's head, in any place among its arguments.
///
/// ```
/// use tayet::{Context, FromRequestParts, Rejection, Request, Router};
///
/// struct ApiKey(String);
///
/// impl<S> FromRequestParts<S> for ApiKey {
///     type Rejection = Rejection;
///
///     fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
///         let key = request.header("x-api-key").ok_or(Rejection::Missing("X-Api-Key"))?;
///         Ok(Self(key.to_owned()))
///     }
/// }
///
/// fn who(ApiKey(key): ApiKey) -> String {
///     format!("you hold {key}")
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().get("/", who));
/// assert_eq!(client.get("/").header("X-Api-Key", "k").send().text(), "you hold k");
/// assert_eq!(client.get("/").send().status(), 400);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from a request's head (with the state `{S}`)",
    label = "not an extractor",
    note = "only a handler's last argument may take the body",
    note = "`State<T>` needs `T: FromRef<S>` and a router whose state is `S`"
)]
pub trait FromRequestParts<S = ()>: Sized {
    /// The answer when it is not there.
    type Rejection: IntoResponse;

    /// Takes it.
    ///
    /// # Errors
    ///
    /// When the request does not have it; the handler is then not called.
    fn from_request_parts(request: &mut Request, context: Context<'_, S>) -> Result<Self, Self::Rejection>;

    /// Takes it for an `Option<Self>` argument. By default every rejection is a `None`.
    ///
    /// # Errors
    ///
    /// When it is there, but wrong, if the extractor tells that from not being there.
    fn optional_from_request_parts(
        request: &mut Request,
        context: Context<'_, S>,
    ) -> Result<Option<Self>, Self::Rejection> {
        Ok(Self::from_request_parts(request, context).ok())
    }
}

/// What a handler may take from a whole request, as its last argument.
///
/// `M` only tells what takes the body from what does not ([`FromRequestParts`]).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from a request (with the state `{S}`)",
    label = "not an extractor",
    note = "`State<T>` needs `T: FromRef<S>` and a router whose state is `S`"
)]
pub trait FromRequest<S = (), M = ViaRequest>: Sized {
    /// How it takes the body.
    const BODY: BodyUse = BodyUse::Adaptive;

    /// The answer when it is not there.
    type Rejection: IntoResponse;

    /// Takes it.
    ///
    /// # Errors
    ///
    /// When the request does not have it; the handler is then not called.
    fn from_request(request: &mut Request, context: Context<'_, S>) -> Result<Self, Self::Rejection>;

    /// Takes it for an `Option<Self>` argument. By default every rejection is a `None`.
    ///
    /// # Errors
    ///
    /// When it is there, but wrong, if the extractor tells that from not being there.
    fn optional_from_request(
        request: &mut Request,
        context: Context<'_, S>,
    ) -> Result<Option<Self>, Self::Rejection> {
        Ok(Self::from_request(request, context).ok())
    }
}

/// Marks what is taken from a head.
#[derive(Debug)]
pub struct ViaParts;

/// Marks what is taken from a whole request.
#[derive(Debug)]
pub struct ViaRequest;

impl<S, T: FromRequestParts<S>> FromRequest<S, ViaParts> for T {
    type Rejection = T::Rejection;

    fn from_request(request: &mut Request, context: Context<'_, S>) -> Result<Self, T::Rejection> {
        T::from_request_parts(request, context)
    }
}

impl<S, T: FromRequestParts<S>> FromRequestParts<S> for Option<T> {
    type Rejection = T::Rejection;

    fn from_request_parts(request: &mut Request, context: Context<'_, S>) -> Result<Self, T::Rejection> {
        T::optional_from_request_parts(request, context)
    }
}

impl<S, T: FromRequest<S>> FromRequest<S> for Option<T> {
    const BODY: BodyUse = T::BODY;
    type Rejection = T::Rejection;

    fn from_request(request: &mut Request, context: Context<'_, S>) -> Result<Self, T::Rejection> {
        T::optional_from_request(request, context)
    }
}

impl<S, T: FromRequestParts<S>> FromRequestParts<S> for Result<T, T::Rejection> {
    type Rejection = std::convert::Infallible;

    fn from_request_parts(request: &mut Request, context: Context<'_, S>) -> Result<Self, Self::Rejection> {
        Ok(T::from_request_parts(request, context))
    }
}

impl<S, T: FromRequest<S>> FromRequest<S> for Result<T, T::Rejection> {
    const BODY: BodyUse = T::BODY;
    type Rejection = std::convert::Infallible;

    fn from_request(request: &mut Request, context: Context<'_, S>) -> Result<Self, Self::Rejection> {
        Ok(T::from_request(request, context))
    }
}
