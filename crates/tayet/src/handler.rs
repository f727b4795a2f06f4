//! Functions that answer requests.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use tayet_engine::{BodyUse, Pin};

use crate::{Context, FromRequest, FromRequestParts, IntoResponse, Request, Response, Settings};

/// Something that answers requests.
///
/// Plain functions are handlers. They take the request itself, or up to eight extractors, of which the last may take the
/// body, or extractors and then the request; they return anything that is [`IntoResponse`]:
///
/// ```
/// use tayet::{Bytes, Json, Path, Request, Router};
///
/// fn hello(_: &mut Request) -> &'static str {
///     "Hello, World!"
/// }
///
/// fn greet(Path(name): Path<String>) -> String {
///     format!("Hello, {name}!")
/// }
///
/// fn length(Path(id): Path<u64>, body: Bytes) -> Json<(u64, usize)> {
///     Json((id, body.len()))
/// }
///
/// fn fields(Path(id): Path<u64>, request: &mut Request) -> String {
///     format!("{id}: {} fields", request.headers().len())
/// }
///
/// let app: Router = Router::new()
///     .get("/", hello)
///     .get("/greet/{name}", greet)
///     .post("/length/{id}", length)
///     .get("/fields/{id}", fields);
/// ```
///
/// A handler may block. The methods of this trait pin down what the server otherwise finds out by itself:
///
/// ```
/// use std::time::Duration;
/// use tayet::{Handler, Request, Router};
///
/// fn report() -> String {
///     "a long one".to_owned()
/// }
///
/// let app: Router = Router::new()
///     .get("/report", report.blocking().timeout(Duration::from_secs(30)))
///     .get("/ping", (|_: &mut Request| "pong").inline());
/// ```
///
/// `M` only tells the kinds of functions apart. A type of your own implements `Handler<Own, S>` with a marker type of yours.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "not a handler",
    note = "a handler is `fn(&mut Request) -> R`, `fn(E1, .., En) -> R` or `fn(E1, .., En, &mut Request) -> R` with at most 8 arguments",
    note = "every `E` but the last is `FromRequestParts<S>`, the last one is that or `FromRequest<S>`, and `R` is `IntoResponse`",
    note = "a closure must name its argument's type: `|request: &mut Request| ..`"
)]
pub trait Handler<M, S = ()>: Sized + Send + Sync + 'static {
    /// Answers a request. It may block; a panic becomes a 500.
    fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response;

    /// How it is to be run.
    fn settings(&self) -> Settings {
        Settings::default()
    }

    /// Runs it on the event loop always: for one that never blocks.
    fn inline(self) -> Configured<Self, M, S> {
        Configured::new(self).inline()
    }

    /// Runs it on a worker always: for one that always blocks.
    fn blocking(self) -> Configured<Self, M, S> {
        Configured::new(self).blocking()
    }

    /// Has the server learn for each group of paths where the handler runs best, rather than once for all: for a handler that is
    /// an application of its own, with slow and quick parts. Paths that begin with the same two segments are of one group;
    /// there are 256 groups.
    fn learning_by_path(self) -> Configured<Self, M, S> {
        Configured::new(self).learning_by_path()
    }

    /// Runs it as soon as the head is there, whatever the size of the body.
    fn streaming(self) -> Configured<Self, M, S> {
        Configured::new(self).streaming()
    }

    /// Takes bodies of at most this many bytes into memory; a larger one is answered 413.
    fn max_body_bytes(self, max_body_bytes: usize) -> Configured<Self, M, S> {
        Configured::new(self).max_body_bytes(max_body_bytes)
    }

    /// Runs at most `calls` of it at the same time, on workers. Others wait, in their order and without a thread, as part of the
    /// queue ([`Limits::queue_capacity`](crate::Limits::queue_capacity)): what a handler depends on, such as a database, is not
    /// asked for more than it can do, and where it is slow it does not take all threads from the other routes.
    ///
    /// Each route has a bound of its own. [`timeout`](Handler::timeout) counts the wait, and a call whose time is up before it
    /// begins is not made.
    ///
    /// ```
    /// use tayet::{Handler, Router};
    ///
    /// fn report() -> String {
    ///     "all that the database has".to_owned()
    /// }
    ///
    /// let app: Router = Router::new().get("/report", report.concurrency_limit(4));
    /// ```
    ///
    /// # Panics
    ///
    /// When `calls` is 0.
    fn concurrency_limit(self, calls: usize) -> Configured<Self, M, S> {
        Configured::new(self).concurrency_limit(calls)
    }

    /// Says that its calls wait for each other, at something that one of them has at a time ([`Turn`](crate::Turn)): four workers at
    /// most are woken to wait for it, and other routes' calls pass those that would.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// use tayet::{Handler, Router, Turn};
    ///
    /// static INTERPRETER: Mutex<u32> = Mutex::new(0);
    ///
    /// fn interpret() -> String {
    ///     let turn = Turn::wait();
    ///     let mut calls = INTERPRETER.lock().unwrap();
    ///     drop(turn);
    ///     *calls += 1;
    ///     calls.to_string()
    /// }
    ///
    /// let app: Router = Router::new().get("/", interpret.taking_turns());
    /// ```
    fn taking_turns(self) -> Configured<Self, M, S> {
        Configured::new(self).taking_turns()
    }

    /// Answers 503 in its place when it has not answered after this long. The handler itself runs on to its end.
    fn timeout(self, timeout: Duration) -> Configured<Self, M, S> {
        Configured::new(self).timeout(timeout)
    }
}

/// A handler with settings of its own, made by the methods of [`Handler`].
pub struct Configured<H, M, S> {
    handler: H,
    settings: Settings,
    kind: PhantomData<fn(M, S)>,
}

impl<H: Handler<M, S>, M, S> Configured<H, M, S> {
    fn new(handler: H) -> Self {
        let settings = handler.settings();
        Self { handler, settings, kind: PhantomData }
    }

    /// As [`Handler::inline`].
    #[must_use]
    pub fn inline(mut self) -> Self {
        self.settings.pin = Some(Pin::Inline);
        self
    }

    /// As [`Handler::blocking`].
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.settings.pin = Some(Pin::Blocking);
        self
    }

    /// As [`Handler::learning_by_path`].
    #[must_use]
    pub fn learning_by_path(mut self) -> Self {
        self.settings.learns_by_path = true;
        self
    }

    /// As [`Handler::streaming`].
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.settings.body = Some(BodyUse::Streamed);
        self
    }

    /// As [`Handler::max_body_bytes`].
    #[must_use]
    pub fn max_body_bytes(mut self, max_body_bytes: usize) -> Self {
        self.settings.max_body_bytes = Some(max_body_bytes);
        self
    }

    /// As [`Handler::concurrency_limit`].
    ///
    /// # Panics
    ///
    /// When `calls` is 0.
    #[must_use]
    pub fn concurrency_limit(mut self, calls: usize) -> Self {
        assert!(calls > 0, "a handler of which no call may run never answers");
        self.settings.concurrency_limit = Some(calls);
        self
    }

    /// As [`Handler::taking_turns`].
    #[must_use]
    pub fn taking_turns(mut self) -> Self {
        self.settings.takes_turns = true;
        self
    }

    /// As [`Handler::timeout`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }
}

impl<H: Handler<M, S>, M: 'static, S: 'static> Handler<M, S> for Configured<H, M, S> {
    fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        self.handler.call(request, context)
    }

    fn settings(&self) -> Settings {
        self.settings
    }
}

impl<H, M, S> fmt::Debug for Configured<H, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configured").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Marks handlers whose last argument is the request itself.
#[derive(Debug)]
pub struct WithRequest<T>(PhantomData<T>);

impl<F, R, S> Handler<(), S> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn call(&self, request: &mut Request, _: Context<'_, S>) -> Response {
        self().respond_to(request)
    }
}

impl<F, R, S> Handler<WithRequest<()>, S> for F
where
    F: Fn(&mut Request) -> R + Send + Sync + 'static,
    R: IntoResponse,
{
    fn call(&self, request: &mut Request, _: Context<'_, S>) -> Response {
        self(request).respond_to(request)
    }
}

macro_rules! handler_of_extractors {
    ($($part:ident)*; $last:ident) => {
        impl<F, R, S, M, $($part,)* $last> Handler<(M, $($part,)* $last), S> for F
        where
            F: Fn($($part,)* $last) -> R + Send + Sync + 'static,
            R: IntoResponse,
            $($part: FromRequestParts<S>,)*
            $last: FromRequest<S, M>,
        {
            #[allow(non_snake_case)]
            fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
                $(let $part = match $part::from_request_parts(request, context) {
                    Ok(part) => part,
                    Err(rejection) => return rejection.into_response(),
                };)*
                match $last::from_request(request, context) {
                    Ok($last) => self($($part,)* $last).respond_to(request),
                    Err(rejection) => rejection.into_response(),
                }
            }

            fn settings(&self) -> Settings {
                Settings { body: Some($last::BODY), ..Settings::default() }
            }
        }
    };
}

macro_rules! handler_with_request {
    ($($part:ident)*) => {
        impl<F, R, S, $($part,)*> Handler<WithRequest<($($part,)*)>, S> for F
        where
            F: Fn($($part,)* &mut Request) -> R + Send + Sync + 'static,
            R: IntoResponse,
            $($part: FromRequestParts<S>,)*
        {
            #[allow(non_snake_case)]
            fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
                $(let $part = match $part::from_request_parts(request, context) {
                    Ok(part) => part,
                    Err(rejection) => return rejection.into_response(),
                };)*
                self($($part,)* request).respond_to(request)
            }
        }
    };
}

handler_of_extractors!(; T1);
handler_of_extractors!(T1; T2);
handler_of_extractors!(T1 T2; T3);
handler_of_extractors!(T1 T2 T3; T4);
handler_of_extractors!(T1 T2 T3 T4; T5);
handler_of_extractors!(T1 T2 T3 T4 T5; T6);
handler_of_extractors!(T1 T2 T3 T4 T5 T6; T7);
handler_of_extractors!(T1 T2 T3 T4 T5 T6 T7; T8);

handler_with_request!(T1);
handler_with_request!(T1 T2);
handler_with_request!(T1 T2 T3);
handler_with_request!(T1 T2 T3 T4);
handler_with_request!(T1 T2 T3 T4 T5);
handler_with_request!(T1 T2 T3 T4 T5 T6);
handler_with_request!(T1 T2 T3 T4 T5 T6 T7);
