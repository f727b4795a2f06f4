//! Which handler answers which request.

use std::fmt;
use std::sync::Arc;

use http::Method;

use crate::app::App;
use crate::automatic::{Asterisk, MethodNotAllowed, NotAllowed, NotFound};
use crate::endpoint::Endpoint;
use crate::method_router::{self, MethodRouter, Methods};
use crate::pattern::Pattern;
use crate::web_socket::WebSocketRoute;
use crate::{Handler, Middleware, WebSocketConfig, WebSocketHandler};

/// Which handler answers which request.
///
/// # Patterns
///
/// A pattern is a path of literal segments and parameters:
///
/// | segment | matches |
/// | --- | --- |
/// | `users` | that text, in whatever percent-encoding it comes |
/// | `{id}` | any one segment that is not empty; [`Path`](crate::Path) has its value |
/// | `{*rest}` | all that is left, slashes included, if that is not empty; only at the end |
/// | `*`, `**` | as the two above, without a name and a value |
///
/// A path is split at its slashes as it was sent and decoded after that, so an encoded slash (`%2F`) never splits. Literal
/// braces are written twice. `/a` and `/a/` are two paths: there is no redirect from one to the other.
///
/// The most specific route wins, whatever the order in which routes are added: at the first segment in which two patterns
/// differ, a literal comes before `{name}`, and that before `{*rest}`. A pattern that has no handler for the request's method
/// gives way to the next one that has.
///
/// # What it answers by itself
///
/// 404 where no pattern matches ([`Router::fallback`]); 405 with `Allow` where one matches but not for this method
/// ([`Router::method_not_allowed_fallback`]); `HEAD` by the handler of `GET`; `OPTIONS` with `Allow`, and `OPTIONS *`.
///
/// # State
///
/// `S` is the type of state that its handlers still need ([`State`](crate::State)); a server takes a `Router<()>`, which is
/// what [`Router::with_state`] makes.
///
/// # Examples
///
/// ```
/// use tayet::{Json, Path, Router, State};
///
/// #[derive(Clone)]
/// struct Shop {
///     name: &'static str,
/// }
///
/// fn welcome(State(shop): State<Shop>) -> String {
///     format!("Welcome to {}!", shop.name)
/// }
///
/// fn price(Path((kind, id)): Path<(String, u32)>) -> Json<(String, u32)> {
///     Json((kind, id * 100))
/// }
///
/// let api = Router::new().get("/prices/{kind}/{id}", price);
/// let app: Router = Router::new().get("/", welcome).nest("/api", api).with_state(Shop { name: "Tayet" });
///
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.get("/").send().text(), "Welcome to Tayet!");
/// assert_eq!(client.get("/api/prices/tea/3").send().text(), r#"["tea",300]"#);
/// ```
pub struct Router<S = ()> {
    paths: Vec<PathEntry<S>>,
    fallback: Endpoint<S>,
    has_own_fallback: bool,
    asterisk: Endpoint<S>,
}

/// All that one pattern has.
pub(crate) struct PathEntry<S> {
    pub(crate) pattern: Pattern,
    pub(crate) methods: MethodRouter<S>,
    /// Answers the methods that have no handler.
    pub(crate) automatic: Endpoint<S>,
    /// Answers all methods, if none has a handler: the fallback of a nested router.
    pub(crate) fallback: Option<Endpoint<S>>,
}

impl<S: Send + Sync + 'static> Router<S> {
    /// A router without routes.
    pub fn new() -> Self {
        Self {
            paths: Vec::new(),
            fallback: Endpoint::new(NotFound),
            has_own_fallback: false,
            asterisk: Endpoint::new(Asterisk),
        }
    }

    /// Gives a path to handlers by method: `.route("/door", get(look).put(open))`.
    ///
    /// # Panics
    ///
    /// When `path` is no pattern, or a method has a handler there already.
    #[track_caller]
    #[must_use]
    pub fn route(mut self, path: &str, methods: MethodRouter<S>) -> Self {
        let pattern = Pattern::parse(path).unwrap_or_else(|error| panic!("{error}"));
        self.entry(pattern).add(path, methods);
        self
    }

    /// Gives these methods of a path to `handler`, such as `[Method::PUT, Method::PATCH]`.
    ///
    /// # Panics
    ///
    /// As [`Router::route`].
    #[track_caller]
    #[must_use]
    pub fn on<M: 'static>(self, methods: impl Methods, path: &str, handler: impl Handler<M, S>) -> Self {
        self.route(path, method_router::on(methods, handler))
    }

    /// Gives all methods of a path that have no handler of their own to `handler`.
    ///
    /// # Panics
    ///
    /// As [`Router::route`].
    #[track_caller]
    #[must_use]
    pub fn any<M: 'static>(self, path: &str, handler: impl Handler<M, S>) -> Self {
        self.route(path, method_router::any(handler))
    }

    /// Opens WebSockets at a path. `handler` is a [`WebSocketHandler`], or a closure that takes the socket and a message;
    /// [`WebSocketUpgrade`](crate::WebSocketUpgrade) is for handlers that look at the request first.
    ///
    /// ```
    /// use tayet::{Message, Router, WebSocket};
    ///
    /// let app: Router = Router::new().websocket("/echo", |socket: &WebSocket, message: Message| {
    ///     // The peer may have gone meanwhile.
    ///     let _ = socket.send(message);
    /// });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`Router::route`].
    #[track_caller]
    #[must_use]
    pub fn websocket(self, path: &str, handler: impl WebSocketHandler) -> Self {
        self.websocket_with(path, WebSocketConfig::default(), handler)
    }

    /// The same by another configuration than the default.
    ///
    /// # Panics
    ///
    /// As [`Router::route`].
    #[track_caller]
    #[must_use]
    pub fn websocket_with(self, path: &str, config: WebSocketConfig, handler: impl WebSocketHandler) -> Self {
        self.route(path, method_router::get(WebSocketRoute::new(handler, config)))
    }

    /// Puts another router's routes below `prefix`; its `/` becomes the prefix itself. If the other has a fallback of its
    /// own, that answers what lies below the prefix and has no route.
    ///
    /// Takes what can be turned into a router too, such as the products that serve a whole subtree.
    ///
    /// # Panics
    ///
    /// When `prefix` is no pattern or takes the rest of the path, or a route is there already.
    #[track_caller]
    #[must_use]
    pub fn nest(mut self, prefix: &str, router: impl Into<Self>) -> Self {
        let router = router.into();
        for path in router.paths {
            let pattern = path.pattern.below(prefix).unwrap_or_else(|error| panic!("{error}"));
            self.entry(pattern).absorb(path);
        }
        if router.has_own_fallback {
            let trimmed = prefix.trim_end_matches('/');
            for text in [trimmed.to_owned(), format!("{trimmed}/"), format!("{trimmed}/**")] {
                self.nest_fallback(&text, &router.fallback);
            }
        }
        self
    }

    /// Takes another router's routes too.
    ///
    /// # Panics
    ///
    /// When both have the same route, or both have a fallback.
    #[track_caller]
    #[must_use]
    pub fn merge(mut self, router: impl Into<Self>) -> Self {
        let router = router.into();
        for path in router.paths {
            self.entry(path.pattern.clone()).absorb(path);
        }
        if router.has_own_fallback {
            assert!(!self.has_own_fallback, "both of two merged routers have a fallback");
            self.fallback = router.fallback;
            self.has_own_fallback = true;
        }
        self
    }

    /// Answers what no route matches with `handler` in place of a 404.
    #[must_use]
    pub fn fallback<M: 'static>(mut self, handler: impl Handler<M, S>) -> Self {
        self.fallback = Endpoint::new(handler);
        self.has_own_fallback = true;
        self
    }

    /// Answers requests by other methods on the routes added so far with `handler` in place of a 405. `Allow` is added to
    /// its answer.
    #[must_use]
    pub fn method_not_allowed_fallback<M: 'static>(mut self, handler: impl Handler<M, S>) -> Self {
        let endpoint = Endpoint::new(MethodNotAllowed::new(handler));
        self.paths.iter_mut().for_each(|path| path.automatic = endpoint.clone());
        self
    }

    /// Puts `middleware` around the routes added so far and around the fallback (the 404 too); what is added later is not
    /// inside of it. Of two layers, the one added later is outside. It runs after the route was found.
    #[must_use]
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        let middleware: Arc<dyn Middleware> = Arc::new(middleware);
        self.wrap_routes(&middleware);
        self.fallback = self.fallback.layered(&middleware);
        self.asterisk = self.asterisk.layered(&middleware);
        self
    }

    /// Puts `middleware` around the routes added so far, but not around the fallback.
    #[must_use]
    pub fn route_layer(mut self, middleware: impl Middleware) -> Self {
        self.wrap_routes(&(Arc::new(middleware) as _));
        self
    }

    /// Gives the routes added so far their state. What is left needs none (or another one, for routes added later).
    #[must_use]
    pub fn with_state<S2: Send + Sync + 'static>(self, state: S) -> Router<S2> {
        let state = Arc::new(state);
        Router {
            paths: self.paths.into_iter().map(|path| path.stated(&state)).collect(),
            fallback: self.fallback.stated(&state),
            has_own_fallback: self.has_own_fallback,
            asterisk: self.asterisk.stated(&state),
        }
    }

    /// The path's entry, made if need be.
    #[track_caller]
    fn entry(&mut self, pattern: Pattern) -> &mut PathEntry<S> {
        let known = self.paths.iter().position(|path| path.pattern.has_shape_of(&pattern));
        let at = known.unwrap_or(self.paths.len());
        match self.paths.get(at) {
            None => self.paths.push(PathEntry::new(pattern)),
            Some(path) => assert!(
                path.pattern.parameters().eq(pattern.parameters()),
                "`{}` and `{pattern}` match the same paths, but name their parameters differently",
                path.pattern,
            ),
        }
        &mut self.paths[at]
    }

    #[track_caller]
    fn nest_fallback(&mut self, path: &str, fallback: &Endpoint<S>) {
        let Ok(pattern) = Pattern::parse(path) else { return };
        if !self.paths.iter().any(|path| path.pattern.has_shape_of(&pattern)) {
            self.entry(pattern).fallback = Some(fallback.clone());
        }
    }

    fn wrap_routes(&mut self, middleware: &Arc<dyn Middleware>) {
        for path in &mut self.paths {
            path.methods.wrap(middleware);
            path.automatic = path.automatic.layered(middleware);
            path.fallback = path.fallback.as_ref().map(|fallback| fallback.layered(middleware));
        }
    }
}

impl Router {
    pub(crate) fn into_app(self) -> App {
        App::new(self.paths, self.fallback, self.asterisk)
    }
}

impl<S: Send + Sync + 'static> PathEntry<S> {
    fn new(pattern: Pattern) -> Self {
        let automatic = Endpoint::new(MethodNotAllowed::new(NotAllowed));
        Self { pattern, methods: MethodRouter::new(), automatic, fallback: None }
    }

    #[track_caller]
    fn add(&mut self, path: &str, methods: MethodRouter<S>) {
        if let Err(method) = self.methods.absorb(methods) {
            panic!("`{path}` has a second handler for {method}: it matches what `{}` matches", self.pattern);
        }
    }

    #[track_caller]
    fn absorb(&mut self, other: Self) {
        if self.methods.is_empty() {
            self.automatic = other.automatic;
        }
        self.fallback = self.fallback.take().or(other.fallback);
        self.add(other.pattern.text(), other.methods);
    }

    fn stated<S2: Send + Sync + 'static>(self, state: &Arc<S>) -> PathEntry<S2> {
        PathEntry {
            pattern: self.pattern,
            methods: self.methods.stated(state),
            automatic: self.automatic.stated(state),
            fallback: self.fallback.map(|fallback| fallback.stated(state)),
        }
    }
}

impl<S: Send + Sync + 'static> Default for Router<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Clone for Router<S> {
    fn clone(&self) -> Self {
        Self {
            paths: self.paths.clone(),
            fallback: self.fallback.clone(),
            has_own_fallback: self.has_own_fallback,
            asterisk: self.asterisk.clone(),
        }
    }
}

impl<S> Clone for PathEntry<S> {
    fn clone(&self) -> Self {
        Self {
            pattern: self.pattern.clone(),
            methods: self.methods.clone(),
            automatic: self.automatic.clone(),
            fallback: self.fallback.clone(),
        }
    }
}

impl<S> fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.paths.iter().map(|path| (path.pattern.text(), &path.methods))).finish()
    }
}

macro_rules! by_method {
    ($($name:ident $method:ident),*) => {
        impl<S: Send + Sync + 'static> Router<S> {
            $(
                #[doc = concat!("Gives `", stringify!($method), "` requests for a path to `handler`.")]
                ///
                /// # Panics
                ///
                /// As [`Router::route`].
                #[track_caller]
                #[must_use]
                pub fn $name<M: 'static>(self, path: &str, handler: impl Handler<M, S>) -> Self {
                    self.on(Method::$method, path, handler)
                }
            )*
        }
    };
}

by_method!(get GET, head HEAD, post POST, put PUT, patch PATCH, delete DELETE, options OPTIONS, trace TRACE);
