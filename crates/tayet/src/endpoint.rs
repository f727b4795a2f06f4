//! A handler whose type no longer matters, with its layers and its state.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::{Context, Handler, Middleware, Next, Request, Response, Settings, files, problem};

/// A handler of a router with state `S`.
pub(crate) struct Endpoint<S> {
    pub(crate) settings: Settings,
    /// From the inside to the outside.
    pub(crate) layers: Vec<Arc<dyn Middleware>>,
    answer: Arc<dyn Answer<S>>,
}

trait Answer<S>: Send + Sync {
    fn answer(&self, request: &mut Request, context: Context<'_, S>) -> Response;
}

impl<S: Send + Sync + 'static> Endpoint<S> {
    pub(crate) fn new<M: 'static>(handler: impl Handler<M, S>) -> Self {
        let settings = handler.settings();
        let answer = Arc::new(Plain { handler, kind: PhantomData::<fn(M)> });
        Self { settings, layers: Vec::new(), answer }
    }

    pub(crate) fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        self.answer.answer(request, context)
    }

    /// The same inside of `middleware`.
    pub(crate) fn layered(&self, middleware: &Arc<dyn Middleware>) -> Self {
        let settings = self.settings.or(middleware.settings());
        let answer =
            Arc::new(Layered { middleware: Arc::clone(middleware), inner: Arc::clone(&self.answer) });
        let layers = self.layers.iter().chain([middleware]).cloned().collect();
        Self { settings, layers, answer }
    }

    /// The same with its state given, for a router whose state is another.
    pub(crate) fn stated<S2: Send + Sync + 'static>(&self, state: &Arc<S>) -> Endpoint<S2> {
        let answer = Arc::new(Stated { state: Arc::clone(state), inner: Arc::clone(&self.answer) });
        Endpoint { settings: self.settings, layers: self.layers.clone(), answer }
    }
}

impl<S> Clone for Endpoint<S> {
    fn clone(&self) -> Self {
        Self { settings: self.settings, layers: self.layers.clone(), answer: Arc::clone(&self.answer) }
    }
}

struct Plain<H, M> {
    handler: H,
    kind: PhantomData<fn(M)>,
}

impl<H: Handler<M, S>, M, S> Answer<S> for Plain<H, M> {
    fn answer(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        let response = self.handler.call(request, context);
        // Most have no extensions, and so nothing to finish: those are built where they are to be.
        if response.extensions().is_none() { response } else { finish(response, request) }
    }
}

#[inline(never)]
fn finish(mut response: Response, request: &Request) -> Response {
    problem::negotiate(&mut response, request);
    files::complete(&mut response, request);
    response
}

struct Layered<S> {
    middleware: Arc<dyn Middleware>,
    inner: Arc<dyn Answer<S>>,
}

impl<S> Answer<S> for Layered<S> {
    fn answer(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        let inner = |request: &mut Request| self.inner.answer(request, context);
        request.surround();
        let mut response = self.middleware.call(request, Next::new(&inner, context.place()));
        problem::negotiate(&mut response, request);
        response
    }
}

struct Stated<S> {
    state: Arc<S>,
    inner: Arc<dyn Answer<S>>,
}

impl<S: Send + Sync, S2> Answer<S2> for Stated<S> {
    fn answer(&self, request: &mut Request, context: Context<'_, S2>) -> Response {
        self.inner.answer(request, Context::new(&self.state, context.place()))
    }
}
