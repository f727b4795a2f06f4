//! A router made ready to serve.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once, PoisonError, RwLock};

use http::Method;
use tayet_engine::{Captures, Head, Match, Route, RouteId, Service};

use crate::context::{Context, Place};
use crate::endpoint::Endpoint;
use crate::matched_route::MatchedRoute;
use crate::route_table::RouteTable;
use crate::router::PathEntry;
use crate::{Middleware, Request, Response, ServerHandle, Settings};

/// What the engine serves.
pub(crate) struct App {
    table: RouteTable,
    /// In the order of the table's [`PathId`](crate::route_table::PathId)s.
    paths: Vec<PathRoutes>,
    /// In the order of their [`RouteId`]s.
    routes: Vec<AppRoute>,
    fallback: RouteId,
    asterisk: RouteId,
    server: RwLock<Option<ServerHandle>>,
    layers_stopped: Once,
}

struct AppRoute {
    endpoint: Endpoint<()>,
    found: MatchedRoute,
}

/// The routes of one path.
#[derive(Default)]
struct PathRoutes {
    /// By [`standard_index`].
    standard: [Option<RouteId>; 8],
    other: Vec<(Method, RouteId)>,
    any: Option<RouteId>,
    automatic: RouteId,
}

static STANDARD: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];

const GET: usize = 0;
const HEAD: usize = 1;

fn standard_index(method: &Method) -> Option<usize> {
    STANDARD.iter().position(|standard| standard == method)
}

impl App {
    pub(crate) fn new(paths: Vec<PathEntry<()>>, fallback: Endpoint<()>, asterisk: Endpoint<()>) -> Self {
        let table = RouteTable::new(paths.iter().map(|path| &path.pattern));
        let mut routes = Vec::new();
        let mut add = |label: String, path: Option<&PathEntry<()>>, endpoint: Endpoint<()>| {
            let parameters = path.into_iter().flat_map(|path| path.pattern.parameters());
            let found = MatchedRoute::new(label, path.map(|path| path.pattern.text()), parameters);
            routes.push(AppRoute { endpoint, found });
            RouteId((routes.len() - 1) as u32)
        };
        let fallback = add("fallback".to_owned(), None, fallback);
        let asterisk = add("OPTIONS *".to_owned(), None, asterisk);
        let paths = paths.iter().map(|path| PathRoutes::new(path, &mut add)).collect();
        Self {
            table,
            paths,
            routes,
            fallback,
            asterisk,
            server: RwLock::default(),
            layers_stopped: Once::new(),
        }
    }

    /// The route of a request for a raw path. `captures` come empty.
    pub(crate) fn find(&self, method: &Method, path: &[u8], captures: &mut Captures) -> RouteId {
        // What most ask for needs neither a search nor a call.
        if *method == Method::GET
            && let Some(route) = self.table.exact_alone(path).and_then(|id| self.paths[id.0].of_get())
        {
            return route;
        }
        self.search(method, path, captures)
    }

    // This one and the next are apart, so that their needs do not burden the paths that are found without them.
    #[inline(never)]
    fn search(&self, method: &Method, path: &[u8], captures: &mut Captures) -> RouteId {
        match self.table.exact(path).and_then(|id| self.paths[id.0].of(method)) {
            Some(route) => route,
            None => self.search_patterns(method, path, captures),
        }
    }

    #[inline(never)]
    fn search_patterns(&self, method: &Method, path: &[u8], captures: &mut Captures) -> RouteId {
        let mut refused = None;
        let found = self.table.search(path, |id, captures| {
            let routes = &self.paths[id.0];
            let route = routes.of(method);
            if route.is_none() && refused.is_none() {
                refused = Some(Match { route: routes.automatic, captures: *captures });
            }
            route.map(|route| Match { route, captures: *captures })
        });
        match found.or(refused) {
            Some(found) => {
                *captures = found.captures;
                found.route
            }
            None if path == b"*" => self.asterisk,
            None => self.fallback,
        }
    }

    /// The methods that have a handler at a path.
    pub(crate) fn allowed(&self, path: &str) -> Vec<Method> {
        let mut allowed = vec![Method::OPTIONS];
        self.table.search(path.as_bytes(), |id, _| {
            self.paths[id.0].collect(&mut allowed);
            None::<()>
        });
        in_order(allowed)
    }

    /// The methods that have a handler at some path.
    pub(crate) fn allowed_anywhere(&self) -> Vec<Method> {
        let mut allowed = vec![Method::OPTIONS];
        self.paths.iter().for_each(|path| path.collect(&mut allowed));
        in_order(allowed)
    }

    pub(crate) fn settings(&self, route: RouteId) -> Settings {
        self.routes[route.0 as usize].endpoint.settings
    }

    pub(crate) fn server(&self) -> Option<ServerHandle> {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_server(&self, server: Option<ServerHandle>) {
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = server;
    }

    /// Tells the layers that the server has stopped, once; who comes second waits until the first is through.
    pub(crate) fn stopped(&self) {
        self.set_server(None);
        self.layers_stopped.call_once(|| self.layers().into_iter().for_each(stop));
    }

    /// Every layer once, however many routes it stands around.
    fn layers(&self) -> Vec<&Arc<dyn Middleware>> {
        let mut layers: Vec<&Arc<dyn Middleware>> = Vec::new();
        for layer in self.routes.iter().flat_map(|route| &route.endpoint.layers) {
            if !layers.iter().any(|known| Arc::ptr_eq(known, layer)) {
                layers.push(layer);
            }
        }
        layers
    }
}

impl Service for App {
    fn routes(&self) -> Vec<Route> {
        self.routes.iter().map(AppRoute::describe).collect()
    }

    fn find(&self, head: &Head, captures: &mut Captures) -> RouteId {
        self.find(head.method(), head.path_bytes(), captures)
    }

    fn call(&self, request: &mut Request) -> Response {
        std::mem::take(self.answer(request, &mut None))
    }

    fn answer<'p>(&self, request: &mut Request, place: &'p mut Option<Response>) -> &'p mut Response {
        let route = &self.routes[request.route().0 as usize];
        let context = Context::new(&(), Place { app: self, route: &route.found });
        route.endpoint.answer(request, context, place)
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.routes.iter().map(|route| route.found.label())).finish()
    }
}

impl AppRoute {
    fn describe(&self) -> Route {
        let settings = self.endpoint.settings;
        Route {
            label: self.found.label().to_owned(),
            pin: settings.pin,
            learns_by_path: settings.learns_by_path,
            body: settings.body.unwrap_or_default(),
            max_body_bytes: settings.max_body_bytes,
            concurrency_limit: settings.concurrency_limit,
            takes_turns: settings.takes_turns,
            timeout_ms: settings.timeout.map(|timeout| timeout.as_millis().try_into().unwrap_or(u64::MAX)),
        }
    }
}

impl PathRoutes {
    fn new(
        path: &PathEntry<()>,
        add: &mut impl FnMut(String, Option<&PathEntry<()>>, Endpoint<()>) -> RouteId,
    ) -> Self {
        let mut routes = Self::default();
        for (method, endpoint) in &path.methods.methods {
            let id = add(format!("{method} {}", path.pattern), Some(path), endpoint.clone());
            match standard_index(method) {
                Some(index) => routes.standard[index] = Some(id),
                None => routes.other.push((method.clone(), id)),
            }
        }
        if let Some(endpoint) = &path.methods.any {
            routes.any = Some(add(format!("ANY {}", path.pattern), Some(path), endpoint.clone()));
        }
        if path.methods.is_empty()
            && let Some(endpoint) = &path.fallback
        {
            routes.any = Some(add(format!("fallback {}", path.pattern), Some(path), endpoint.clone()));
        }
        routes.standard[HEAD] = routes.standard[HEAD].or(routes.standard[GET]);
        routes.automatic = add(format!("OTHER {}", path.pattern), Some(path), path.automatic.clone());
        routes
    }

    #[inline(always)]
    fn of_get(&self) -> Option<RouteId> {
        self.standard[GET].or(self.any)
    }

    /// The route of a method, if it is one of the standard ones.
    fn of_standard(&self, method: &Method) -> Option<RouteId> {
        self.standard[standard_index(method)?].or(self.any)
    }

    /// The route of a method.
    fn of(&self, method: &Method) -> Option<RouteId> {
        let of_other = || self.other.iter().find(|(other, _)| other == method).map(|(_, id)| *id);
        self.of_standard(method).or_else(of_other).or(self.any)
    }

    fn collect(&self, methods: &mut Vec<Method>) {
        let standard =
            STANDARD.iter().zip(self.standard).filter(|(_, route)| route.is_some() || self.any.is_some());
        methods.extend(standard.map(|(method, _)| method.clone()));
        methods.extend(self.other.iter().map(|(method, _)| method.clone()));
    }
}

/// A layer that panics does not keep the others from finishing.
fn stop(layer: &Arc<dyn Middleware>) {
    if catch_unwind(AssertUnwindSafe(|| layer.stopped())).is_err() {
        tracing::error!("a layer panicked when the server had stopped");
    }
}

/// The standard methods in their order, then the others in theirs, each once.
fn in_order(mut methods: Vec<Method>) -> Vec<Method> {
    let rank =
        |method: &Method| (standard_index(method).unwrap_or(STANDARD.len()), method.as_str().to_owned());
    methods.sort_by_key(rank);
    methods.dedup();
    methods
}
