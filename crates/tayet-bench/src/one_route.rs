//! The least that an engine can serve.

use tayet_engine::{Captures, Head, Request, Response, Route, RouteId, Service};

/// One route for all requests, which has the same text for each.
pub struct OneRoute(pub &'static str);

impl Service for OneRoute {
    fn routes(&self) -> Vec<Route> {
        vec![Route::default()]
    }

    fn find(&self, _: &Head, _: &mut Captures) -> RouteId {
        RouteId(0)
    }

    fn call(&self, _: &mut Request) -> Response {
        Response::new(self.0)
    }
}
