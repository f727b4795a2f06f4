//! What middleware hands to handlers.

use crate::{Context, FromRequestParts, Rejection, Request};

/// A value that middleware has put into the request's extensions; 500 where it has not.
///
/// ```
/// use tayet::{Extension, Next, Request, Response, Router};
///
/// #[derive(Clone)]
/// struct User(&'static str);
///
/// fn log_in(request: &mut Request, next: Next<'_>) -> Response {
///     request.extensions_mut().insert(User("Ada"));
///     next.run(request)
/// }
///
/// let app: Router = Router::new().get("/", |Extension(User(name)): Extension<User>| name).layer(log_in);
/// assert_eq!(tayet::testing::TestClient::new(app).get("/").send().text(), "Ada");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Extension<T>(pub T);

impl<S, T: Clone + Send + Sync + 'static> FromRequestParts<S> for Extension<T> {
    type Rejection = Rejection;

    fn from_request_parts(request: &mut Request, _: Context<'_, S>) -> Result<Self, Rejection> {
        let value = request.extensions().and_then(|extensions| extensions.get::<T>());
        value.cloned().map(Self).ok_or(Rejection::Unprovided(std::any::type_name::<Self>()))
    }
}
