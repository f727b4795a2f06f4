//! The body as bytes or text.

use bytes::Bytes;
use tayet_engine::BodyUse;

use crate::{Context, FromRequest, Rejection, Request};

/// The whole body, of at most `max_body_bytes` (413).
impl<S> FromRequest<S> for Bytes {
    const BODY: BodyUse = BodyUse::Buffered;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        Ok(request.bytes()?)
    }
}

/// As `Bytes`.
impl<S> FromRequest<S> for Vec<u8> {
    const BODY: BodyUse = BodyUse::Buffered;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        Ok(request.bytes()?.into())
    }
}

/// As `Bytes`; 400 for what is not UTF-8.
impl<S> FromRequest<S> for String {
    const BODY: BodyUse = BodyUse::Buffered;
    type Rejection = Rejection;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        Self::from_utf8(request.bytes()?.into()).map_err(|_| Rejection::NotUtf8)
    }
}
