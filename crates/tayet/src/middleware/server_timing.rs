//! How long a handler took.

use std::time::Instant;

use http::{HeaderName, HeaderValue};

use super::{Middleware, Next, amend};
use crate::{Request, Response};

/// Says in `Server-Timing` how many milliseconds what is inside of it took, so that browsers show it.
///
/// ```
/// use tayet::{Router, ServerTiming};
///
/// let app: Router = Router::new().get("/", || "hello").layer(ServerTiming);
/// let response = tayet::testing::TestClient::new(app).get("/").send();
/// assert!(response.header("server-timing").unwrap().starts_with("app;dur="));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerTiming;

impl Middleware for ServerTiming {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        let start = Instant::now();
        let mut response = next.run(request);
        amend(&start, request, &mut response, |start, response| {
            let timing = format!("app;dur={:.3}", start.elapsed().as_secs_f64() * 1000.0);
            if let Ok(timing) = HeaderValue::try_from(timing) {
                response.headers_mut().append(HeaderName::from_static("server-timing"), timing);
            }
        });
        response
    }
}
