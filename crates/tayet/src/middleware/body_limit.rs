//! How large bodies may be.

use super::{Middleware, Next};
use crate::{Request, Response, Settings};

/// Takes bodies of at most this many bytes into memory; a larger one is answered 413. A handler's own
/// [`max_body_bytes`](crate::Handler::max_body_bytes) prevails, and so does a limit further in. Streams are not counted.
///
/// ```
/// use tayet::{BodyLimit, Bytes, Router};
///
/// let app: Router = Router::new().post("/", |body: Bytes| body).layer(BodyLimit::bytes(4));
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.post("/").body("four").send().status(), 200);
/// assert_eq!(client.post("/").body("fives").send().status(), 413);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BodyLimit {
    max_body_bytes: usize,
}

impl BodyLimit {
    /// A limit of this many bytes.
    pub fn bytes(max_body_bytes: usize) -> Self {
        Self { max_body_bytes }
    }
}

/// The server does it, before it reads a body.
impl Middleware for BodyLimit {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        next.run(request)
    }

    fn settings(&self) -> Settings {
        Settings { max_body_bytes: Some(self.max_body_bytes), ..Settings::default() }
    }
}
