//! The handlers of one path, by method.

use std::fmt;
use std::sync::Arc;

use http::Method;

use crate::endpoint::Endpoint;
use crate::{Handler, Middleware};

/// The handlers of one path, by method. Begin with one of [`get`], [`post`], [`any`] and so on, go on with the methods of
/// the same names, and give it to [`Router::route`](crate::Router::route).
///
/// ```
/// use tayet::{Router, get};
///
/// let app: Router = Router::new().route("/door", get(|| "closed").put(|| "opened").delete(|| "gone"));
/// ```
pub struct MethodRouter<S = ()> {
    pub(crate) methods: Vec<(Method, Endpoint<S>)>,
    pub(crate) any: Option<Endpoint<S>>,
}

impl<S: Send + Sync + 'static> MethodRouter<S> {
    /// No handlers yet.
    pub fn new() -> Self {
        Self { methods: Vec::new(), any: None }
    }

    /// Gives these methods to `handler`, such as [`Method::GET`] or `[Method::PUT, Method::PATCH]`.
    ///
    /// # Panics
    ///
    /// When one of them has a handler already.
    #[track_caller]
    #[must_use]
    pub fn on<M: 'static>(self, methods: impl Methods, handler: impl Handler<M, S>) -> Self {
        let endpoint = Endpoint::new(handler);
        methods.into_methods().into_iter().fold(self, |router, method| router.with(method, endpoint.clone()))
    }

    /// Gives all methods that have no handler of their own to `handler`.
    ///
    /// # Panics
    ///
    /// When there is such a handler already.
    #[track_caller]
    #[must_use]
    pub fn any<M: 'static>(mut self, handler: impl Handler<M, S>) -> Self {
        assert!(self.any.is_none(), "two handlers for any method");
        self.any = Some(Endpoint::new(handler));
        self
    }

    /// Puts `middleware` around the handlers that are there now.
    #[must_use]
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        self.wrap(&(Arc::new(middleware) as _));
        self
    }

    pub(crate) fn wrap(&mut self, middleware: &Arc<dyn Middleware>) {
        for endpoint in self.endpoints_mut() {
            *endpoint = endpoint.layered(middleware);
        }
    }

    /// Takes the other's handlers too; the first thing that both have is the error.
    pub(crate) fn absorb(&mut self, other: Self) -> Result<(), String> {
        for (method, endpoint) in other.methods {
            if self.has(&method) {
                return Err(method.to_string());
            }
            self.methods.push((method, endpoint));
        }
        match (&self.any, other.any) {
            (Some(_), Some(_)) => return Err("any method".to_owned()),
            (None, any) => self.any = any,
            (Some(_), None) => {}
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.methods.is_empty() && self.any.is_none()
    }

    pub(crate) fn stated<S2: Send + Sync + 'static>(self, state: &Arc<S>) -> MethodRouter<S2> {
        MethodRouter {
            methods: self
                .methods
                .into_iter()
                .map(|(method, endpoint)| (method, endpoint.stated(state)))
                .collect(),
            any: self.any.map(|endpoint| endpoint.stated(state)),
        }
    }

    #[track_caller]
    fn with(mut self, method: Method, endpoint: Endpoint<S>) -> Self {
        assert!(!self.has(&method), "two handlers for {method}");
        self.methods.push((method, endpoint));
        self
    }

    fn has(&self, method: &Method) -> bool {
        self.methods.iter().any(|(known, _)| known == method)
    }

    fn endpoints_mut(&mut self) -> impl Iterator<Item = &mut Endpoint<S>> {
        self.methods.iter_mut().map(|(_, endpoint)| endpoint).chain(&mut self.any)
    }
}

impl<S: Send + Sync + 'static> Default for MethodRouter<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Clone for MethodRouter<S> {
    fn clone(&self) -> Self {
        Self { methods: self.methods.clone(), any: self.any.clone() }
    }
}

impl<S> fmt::Debug for MethodRouter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = self.methods.iter().map(|(method, _)| method.as_str());
        f.debug_set().entries(methods.chain(self.any.as_ref().map(|_| "any"))).finish()
    }
}

/// One method or several.
pub trait Methods {
    /// All of them.
    fn into_methods(self) -> Vec<Method>;
}

impl Methods for Method {
    fn into_methods(self) -> Vec<Method> {
        vec![self]
    }
}

impl<const N: usize> Methods for [Method; N] {
    fn into_methods(self) -> Vec<Method> {
        self.into()
    }
}

impl Methods for Vec<Method> {
    fn into_methods(self) -> Vec<Method> {
        self
    }
}

/// Gives these methods to `handler`.
pub fn on<M: 'static, S: Send + Sync + 'static>(
    methods: impl Methods,
    handler: impl Handler<M, S>,
) -> MethodRouter<S> {
    MethodRouter::new().on(methods, handler)
}

/// Gives all methods to `handler`.
pub fn any<M: 'static, S: Send + Sync + 'static>(handler: impl Handler<M, S>) -> MethodRouter<S> {
    MethodRouter::new().any(handler)
}

macro_rules! by_method {
    ($($name:ident $method:ident),*) => {
        $(
            #[doc = concat!("Gives `", stringify!($method), "` requests to `handler`.")]
            pub fn $name<M: 'static, S: Send + Sync + 'static>(handler: impl Handler<M, S>) -> MethodRouter<S> {
                MethodRouter::new().$name(handler)
            }
        )*

        impl<S: Send + Sync + 'static> MethodRouter<S> {
            $(
                #[doc = concat!("Gives `", stringify!($method), "` requests to `handler`.")]
                ///
                /// # Panics
                ///
                /// When that method has a handler already.
                #[track_caller]
                #[must_use]
                pub fn $name<M: 'static>(self, handler: impl Handler<M, S>) -> Self {
                    self.on(Method::$method, handler)
                }
            )*
        }
    };
}

by_method!(get GET, head HEAD, post POST, put PUT, patch PATCH, delete DELETE, options OPTIONS, trace TRACE);
