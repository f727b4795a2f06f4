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
    /// Answers a request in a place that is empty: most answers are made there.
    fn answer<'p>(
        &self,
        request: &mut Request,
        context: Context<'_, S>,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response;
}

impl<S: Send + Sync + 'static> Endpoint<S> {
    pub(crate) fn new<M: 'static>(handler: impl Handler<M, S>) -> Self {
        let settings = handler.settings();
        let answer = Arc::new(Plain { handler, kind: PhantomData::<fn(M)> });
        Self { settings, layers: Vec::new(), answer }
    }

    pub(crate) fn answer<'p>(
        &self,
        request: &mut Request,
        context: Context<'_, S>,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response {
        self.answer.answer(request, context, place)
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
    fn answer<'p>(
        &self,
        request: &mut Request,
        context: Context<'_, S>,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response {
        let response = place.get_or_insert_with(|| self.handler.call(request, context));
        // Most have no extensions, and so nothing to finish.
        if response.extensions().is_some() {
            finish(response, request);
        }
        response
    }
}

#[inline(never)]
fn finish(response: &mut Response, request: &Request) {
    problem::negotiate(response, request);
    files::complete(response, request);
}

struct Layered<S> {
    middleware: Arc<dyn Middleware>,
    inner: Arc<dyn Answer<S>>,
}

impl<S> Answer<S> for Layered<S> {
    fn answer<'p>(
        &self,
        request: &mut Request,
        context: Context<'_, S>,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response {
        let inner = |request: &mut Request| std::mem::take(self.inner.answer(request, context, &mut None));
        request.surround();
        let next = Next::new(&inner, context.place());
        let response = place.get_or_insert_with(|| self.middleware.call(request, next));
        problem::negotiate(response, request);
        response
    }
}

struct Stated<S> {
    state: Arc<S>,
    inner: Arc<dyn Answer<S>>,
}

impl<S: Send + Sync, S2> Answer<S2> for Stated<S> {
    fn answer<'p>(
        &self,
        request: &mut Request,
        context: Context<'_, S2>,
        place: &'p mut Option<Response>,
    ) -> &'p mut Response {
        self.inner.answer(request, Context::new(&self.state, context.place()), place)
    }
}
