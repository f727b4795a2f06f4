//! The router's state.

use std::convert::Infallible;

use crate::{Context, FromRequestParts, Request};

/// The router's state ([`Router::with_state`](crate::Router::with_state)), or a part of it.
///
/// It is cloned for each request: keep what is large or shared behind an [`Arc`](std::sync::Arc). Asking for a state that the
/// router does not have does not compile.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tayet::{FromRef, Router, State};
///
/// #[derive(Clone, Default)]
/// struct Visits(Arc<Mutex<u64>>);
///
/// struct Site {
///     visits: Visits,
/// }
///
/// impl FromRef<Site> for Visits {
///     fn from_ref(site: &Site) -> Self {
///         site.visits.clone()
///     }
/// }
///
/// fn visit(State(Visits(count)): State<Visits>) -> String {
///     let mut count = count.lock().unwrap();
///     *count += 1;
///     count.to_string()
/// }
///
/// let app: Router = Router::new().get("/", visit).with_state(Site { visits: Visits::default() });
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.get("/").send().text(), "1");
/// assert_eq!(client.get("/").send().text(), "2");
/// ```
///
/// ```compile_fail,E0308
/// use tayet::{Router, Server, State};
///
/// let app = Router::new().get("/", |State(name): State<String>| name);
/// Server::new(app); // the state is missing
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct State<T>(pub T);

/// What is had of a state `S`: the state itself, or a part of it.
pub trait FromRef<S> {
    /// Takes it.
    fn from_ref(state: &S) -> Self;
}

impl<S: Clone> FromRef<S> for S {
    fn from_ref(state: &S) -> Self {
        state.clone()
    }
}

impl<S, T: FromRef<S>> FromRequestParts<S> for State<T> {
    type Rejection = Infallible;

    fn from_request_parts(_: &mut Request, context: Context<'_, S>) -> Result<Self, Infallible> {
        Ok(Self(T::from_ref(context.state())))
    }
}
