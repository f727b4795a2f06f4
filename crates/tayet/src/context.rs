//! What an extractor or handler may know beside the request.

use std::fmt;

use crate::app::App;
use crate::matched_route::MatchedRoute;
use crate::{Request, ServerHandle};

/// The state of the router, the route that was found, and the server: what a request is handled in.
pub struct Context<'a, S = ()> {
    state: &'a S,
    place: Place<'a>,
}

/// A [`Context`] without its state.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) app: &'a App,
    pub(crate) route: &'a MatchedRoute,
}

impl<'a, S> Context<'a, S> {
    pub(crate) fn new(state: &'a S, place: Place<'a>) -> Self {
        Self { state, place }
    }

    pub(crate) fn place(self) -> Place<'a> {
        self.place
    }

    /// The state that [`Router::with_state`](crate::Router::with_state) was given.
    pub fn state(self) -> &'a S {
        self.state
    }

    /// The route that was found.
    pub fn route(self) -> &'a MatchedRoute {
        self.place.route
    }

    /// The running server; `None` in tests without one.
    pub fn server(self) -> Option<ServerHandle> {
        self.place.app.server()
    }

    /// The parameter `name` of the route's pattern as it was sent, percent-encoded.
    pub fn raw_parameter<'r>(self, request: &'r Request, name: &str) -> Option<&'r str> {
        let index = self.route().parameters().position(|parameter| parameter == Some(name))?;
        request.path().get(request.captures().get(index)?)
    }
}

impl<S> Clone for Context<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Context<'_, S> {}

impl<S> fmt::Debug for Context<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("route", self.route()).finish_non_exhaustive()
    }
}
