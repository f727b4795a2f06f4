//! A query that a handler returns.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::sync_channel;

use tayet::{Error, IntoResponse, Json, Request, Response};
use tokio::runtime::Handle;

use crate::{MongoError, MongoErrorKind, Or404};

/// A query that no thread waits for: a handler whose last act it is returns it, and the answer is sent when it is there.
///
/// The methods of a [`Collection::later`](crate::Collection::later) make it. What is done with what the server says
/// ([`Later::map`], [`Later::and_then`], and the making of the response) is done on the driver's thread, all queries' own: so
/// it must not block.
///
/// It begins when the handler returns it. Within a tuple, where it cannot be taken apart, it is waited for.
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use tayet::{Json, Path, Router};
/// use tayet_mongo::{Db, Id, Later, Mongo};
///
/// #[derive(Serialize, Deserialize)]
/// struct User {
///     #[serde(rename = "_id")]
///     id: Id,
///     name: String,
/// }
///
/// fn one(db: Db, Path(id): Path<Id>) -> Later<Json<User>> {
///     db.collection::<User>("users").later().find_by_id(id).or_404().json()
/// }
///
/// let mongo = Mongo::new("mongodb://127.0.0.1:27017/shop")?;
/// let app: Router = Router::new().get("/users/{id}", one).with_state(mongo);
/// # Ok::<(), tayet_mongo::MongoError>(())
/// ```
#[must_use = "a handler returns it; dropped, nothing is asked"]
pub struct Later<T>(State<T>);

enum State<T> {
    /// Nothing is to be asked.
    Ready(tayet::Result<T>),
    /// To be run by the driver.
    Asked { runtime: Handle, outcome: Outcome<T> },
}

type Outcome<T> = Pin<Box<dyn Future<Output = tayet::Result<T>> + Send>>;

impl<T> Later<T> {
    pub(crate) fn ready(result: tayet::Result<T>) -> Self {
        Self(State::Ready(result))
    }
}

impl<T: Send + 'static> Later<T> {
    pub(crate) fn asked(
        runtime: Handle,
        outcome: impl Future<Output = tayet::Result<T>> + Send + 'static,
    ) -> Self {
        Self(State::Asked { runtime, outcome: Box::pin(outcome) })
    }

    /// Makes something else of what is found.
    pub fn map<U: Send + 'static>(self, change: impl FnOnce(T) -> U + Send + 'static) -> Later<U> {
        self.and_then(|found| Ok::<_, Error>(change(found)))
    }

    /// Makes something else of what is found, or an error.
    pub fn and_then<U, E>(self, change: impl FnOnce(T) -> Result<U, E> + Send + 'static) -> Later<U>
    where
        U: Send + 'static,
        E: Into<Error>,
    {
        let change = |result: tayet::Result<T>| change(result?).map_err(Into::into);
        match self.0 {
            State::Ready(result) => Later::ready(change(result)),
            State::Asked { runtime, outcome } => Later::asked(runtime, async move { change(outcome.await) }),
        }
    }

    /// What is found as [`Json`].
    pub fn json(self) -> Later<Json<T>> {
        self.map(Json)
    }

    /// Waits for it after all.
    ///
    /// # Errors
    ///
    /// When the query fails, or what was to be made of its result.
    pub fn wait(self) -> tayet::Result<T> {
        let (runtime, outcome) = match self.0 {
            State::Ready(result) => return result,
            State::Asked { runtime, outcome } => (runtime, outcome),
        };
        let (sender, receiver) = sync_channel(1);
        // Whoever waits does so until it is there.
        runtime.spawn(async move { sender.send(outcome.await) });
        let panicked =
            |_| MongoError::because(MongoErrorKind::Failed, "what was to be done with it panicked");
        receiver.recv().map_err(panicked)?
    }
}

impl<T: Send + 'static> Later<Option<T>> {
    /// What is found, or a 404.
    pub fn or_404(self) -> Later<T> {
        self.and_then(Or404::or_404)
    }
}

impl<T: IntoResponse + Send + 'static> IntoResponse for Later<T> {
    fn into_response(self) -> Response {
        self.wait().into_response()
    }

    fn respond_to(self, request: &mut Request) -> Response {
        match self.0 {
            State::Asked { runtime, outcome } if request.can_defer() => {
                let responder = request.defer();
                // Dropped in a panic, the responder answers 500.
                runtime.spawn(async move { responder.respond(outcome.await.into_response()) });
                Response::default()
            }
            _ => self.into_response(),
        }
    }
}

impl<T> fmt::Debug for Later<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            State::Ready(_) => "Ready",
            State::Asked { .. } => "Asked",
        };
        f.debug_tuple("Later").field(&state).finish()
    }
}
