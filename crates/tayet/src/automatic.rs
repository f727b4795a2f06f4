//! What a router answers by itself.

use std::marker::PhantomData;

use http::{HeaderValue, Method, StatusCode, header};

use crate::{Context, Handler, IntoResponse, Problem, Request, Response, Settings};

/// Marks the handlers of this module.
pub(crate) struct Automatic;

/// 404.
pub(crate) struct NotFound;

impl<S> Handler<Automatic, S> for NotFound {
    fn call(&self, _: &mut Request, _: Context<'_, S>) -> Response {
        Problem::new(StatusCode::NOT_FOUND).with_detail("there is nothing at this path").into_response()
    }
}

/// 405.
pub(crate) struct NotAllowed;

impl<S> Handler<Automatic, S> for NotAllowed {
    fn call(&self, request: &mut Request, _: Context<'_, S>) -> Response {
        let detail = format!("{} is not for this path", request.method());
        Problem::new(StatusCode::METHOD_NOT_ALLOWED).with_detail(detail).into_response()
    }
}

/// A path's answer to methods without a handler: `OPTIONS` says what there is, others get `handler`'s answer, and both get
/// `Allow` (RFC 9110 sections 9.3.7 and 15.5.6).
pub(crate) struct MethodNotAllowed<H, M> {
    handler: H,
    kind: PhantomData<fn(M)>,
}

impl<H, M> MethodNotAllowed<H, M> {
    pub(crate) fn new(handler: H) -> Self {
        Self { handler, kind: PhantomData }
    }
}

impl<H: Handler<M, S>, M: 'static, S> Handler<(Automatic, M), S> for MethodNotAllowed<H, M> {
    fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        let allow = context.place().app.allowed(request.path());
        let mut response = match *request.method() {
            Method::OPTIONS => Response::empty(StatusCode::NO_CONTENT),
            _ => self.handler.call(request, context),
        };
        response.headers_mut().entry(header::ALLOW).or_insert(allow_value(&allow));
        response
    }

    fn settings(&self) -> Settings {
        self.handler.settings()
    }
}

/// `OPTIONS *`: what there is anywhere.
pub(crate) struct Asterisk;

impl<S> Handler<Automatic, S> for Asterisk {
    fn call(&self, _: &mut Request, context: Context<'_, S>) -> Response {
        let allow = context.place().app.allowed_anywhere();
        Response::empty(StatusCode::NO_CONTENT).with_header(header::ALLOW, allow_value(&allow))
    }
}

fn allow_value(methods: &[Method]) -> HeaderValue {
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    HeaderValue::from_str(&names.join(", ")).expect("methods are tokens")
}
