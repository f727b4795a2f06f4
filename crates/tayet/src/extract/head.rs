//! Parts of the head as they are.

use std::convert::Infallible;

use http::{HeaderMap, Method, Uri, Version};

use crate::{Context, FromRequestParts, Request};

macro_rules! part_of_head {
    ($($part:ty: $take:expr,)*) => {
        $(impl<S> FromRequestParts<S> for $part {
            type Rejection = Infallible;

            fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
                let take: fn(&Request) -> Self = $take;
                Ok(take(request))
            }
        })*
    };
}

part_of_head! {
    Method: |request| request.method().clone(),
    Uri: |request| request.uri().clone(),
    Version: |request| request.version(),
    HeaderMap: |request| request.headers().clone(),
}
