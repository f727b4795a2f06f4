//! The body, read while it arrives.

use std::convert::Infallible;
use std::io::{self, Read};

use tayet_engine::{BodyUse, RequestBody};

use crate::{Context, FromRequest, Request};

/// The body, read while it arrives; its handler is called as soon as the head is there.
///
/// Reading blocks until there is more. The client cannot send faster than the handler reads. There is no limit to its length
/// but [`Limits::max_stream_bytes`](crate::Limits::max_stream_bytes).
///
/// ```
/// use std::fs::File;
/// use tayet::{BodyStream, Router};
///
/// fn save(mut body: BodyStream) -> tayet::Result<String> {
///     let length = std::io::copy(&mut body, &mut File::create("/dev/null")?)?;
///     Ok(format!("{length} bytes"))
/// }
///
/// let client = tayet::testing::TestClient::new(Router::new().put("/file", save));
/// assert_eq!(client.put("/file").body("12345").send().text(), "5 bytes");
/// ```
#[derive(Debug)]
pub struct BodyStream(RequestBody);

impl BodyStream {
    /// The body itself, for its typed errors and its trailer fields.
    pub fn into_inner(self) -> RequestBody {
        self.0
    }
}

impl Read for BodyStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl<S> FromRequest<S> for BodyStream {
    const BODY: BodyUse = BodyUse::Streamed;
    type Rejection = Infallible;

    fn from_request(request: &mut Request, _: Context<'_, S>) -> Result<Self, Infallible> {
        Ok(Self(request.take_body()))
    }
}
