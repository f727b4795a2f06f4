//! Who asks, and whom.

use std::convert::Infallible;

use tayet_engine::PeerAddress;

use crate::{Context, FromRequestParts, Rejection, Request};

/// Who asks: the connection's other end, or what a trusted proxy says of it
/// ([`TrustedProxies`](crate::TrustedProxies)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteAddr(pub PeerAddress);

impl<S> FromRequestParts<S> for RemoteAddr {
    type Rejection = Infallible;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
        Ok(Self(request.remote_addr()))
    }
}

/// The host (and port) that is asked, by the request or by a trusted proxy
/// ([`TrustedProxies`](crate::TrustedProxies)); 400 where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host(pub String);

impl<S> FromRequestParts<S> for Host {
    type Rejection = Rejection;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        if let Some(host) = request.extensions().and_then(|extensions| extensions.get::<Self>()) {
            return Ok(host.clone());
        }
        request.host().map(|host| Self(host.to_owned())).ok_or(Rejection::Missing("Host"))
    }
}

/// How the client reached the server, `http` or `https`, by the connection or by a trusted proxy
/// ([`TrustedProxies`](crate::TrustedProxies)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scheme(pub http::uri::Scheme);

impl<S> FromRequestParts<S> for Scheme {
    type Rejection = Infallible;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
        let forwarded = request.extensions().and_then(|extensions| extensions.get::<Self>());
        Ok(forwarded.cloned().unwrap_or(Self(http::uri::Scheme::HTTP)))
    }
}
