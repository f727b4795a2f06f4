//! A database, for one request or for work outside of requests.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mongodb::Database;
use mongodb::bson::Document;
use tayet::{Context, FromRef, FromRequestParts, Request};

use crate::call::{Patience, wait_for};
use crate::session::Session;
use crate::{Collection, Mongo, MongoError, MongoErrorKind, Result};

/// A database: as an extractor, for one request, whose deadline is its queries' ([`Request::time_left`]) and whose client is
/// watched: when it goes, nobody waits for its queries any longer.
///
/// The router's state is a [`Mongo`], or has one ([`FromRef`]).
///
/// ```no_run
/// use tayet::{FromRef, Router};
/// use tayet_mongo::{Db, Document, Mongo, doc};
///
/// struct Site {
///     mongo: Mongo,
/// }
///
/// impl FromRef<Site> for Mongo {
///     fn from_ref(site: &Site) -> Self {
///         site.mongo.clone()
///     }
/// }
///
/// fn how_many(db: Db) -> tayet::Result<String> {
///     Ok(db.collection::<Document>("users").count(doc! {})?.to_string())
/// }
///
/// let site = Site { mongo: Mongo::new("mongodb://127.0.0.1/shop")? };
/// let app: Router = Router::new().get("/users/count", how_many).with_state(site);
/// # Ok::<(), tayet_mongo::MongoError>(())
/// ```
#[derive(Clone)]
pub struct Db {
    mongo: Mongo,
    database: Arc<str>,
    patience: Patience,
    /// In a transaction.
    session: Option<Arc<Session>>,
}

/// What a piece of work for the driver is given.
pub(crate) struct Work {
    pub(crate) database: Database,
    /// How long the server may take.
    pub(crate) max_time: Duration,
    pub(crate) session: Option<Arc<Session>>,
}

impl Db {
    pub(crate) fn new(mongo: Mongo, patience: Patience) -> Self {
        let database = Arc::clone(mongo.database());
        Self { mongo, database, patience, session: None }
    }

    /// A collection whose documents are `T`s. Nothing is asked of the server.
    pub fn collection<T>(&self, name: impl Into<Arc<str>>) -> Collection<T> {
        Collection::new(self.clone(), name.into())
    }

    /// Another database of the same server.
    #[must_use]
    pub fn named(&self, database: impl Into<Arc<str>>) -> Self {
        Self { database: database.into(), ..self.clone() }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.database
    }

    /// The same, whose queries end by then; an earlier deadline prevails.
    #[must_use]
    pub fn with_deadline(mut self, due: Instant) -> Self {
        self.patience.due = Some(self.patience.due.map_or(due, |earlier| earlier.min(due)));
        self
    }

    /// Runs a command of the server's own, such as `doc! { "dbStats": 1 }`.
    ///
    /// # Errors
    ///
    /// When there is no server, or it refuses.
    pub fn command(&self, command: Document) -> Result<Document> {
        self.run("command", |work| async move {
            let action = work.database.run_command(command);
            Ok(perform!(work.session, action)?)
        })
    }

    pub(crate) fn in_session(&self, session: Arc<Session>) -> Self {
        Self { session: Some(session), ..self.clone() }
    }

    pub(crate) fn is_in_session(&self) -> bool {
        self.session.is_some()
    }

    /// Has the driver do something, and waits for it. `work` is to make a future that does nothing before it is polled.
    pub(crate) fn run<T, F>(&self, operation: &'static str, work: impl FnOnce(Work) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let begun = Instant::now();
        let result = self.ask(work);
        match &result {
            Ok(_) => self.mongo.stats().answered(operation, begun.elapsed().as_secs_f64()),
            Err(error) => self.note(error),
        }
        result
    }

    fn ask<T, F>(&self, work: impl FnOnce(Work) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let left = self.patience.left(self.mongo.query_timeout())?;
        let (driver, ticket) = self.mongo.enter()?;
        let work = work(Work {
            database: driver.client().database(&self.database),
            max_time: left,
            session: self.session.clone(),
        });
        wait_for(driver.runtime(), ticket, &self.patience, left, work)
    }

    fn note(&self, error: &MongoError) {
        self.mongo.stats().failed(error);
        if let Some(session) = &self.session {
            session.note(error);
        }
        if error.kind() == MongoErrorKind::ClientGone {
            tracing::debug!("a client went while its query was under way");
        }
    }
}

impl<S> FromRequestParts<S> for Db
where
    Mongo: FromRef<S>,
{
    type Rejection = Infallible;

    fn from_request_parts(request: &mut Request, context: Context<'_, S>) -> Result<Self, Infallible> {
        let mongo = Mongo::from_ref(context.state());
        mongo.follow(|| context.server());
        let due = request.time_left().map(|left| Instant::now() + left);
        Ok(Self::new(mongo, Patience { due, client: Some(request.client_watch()) }))
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db").field("database", &self.database).finish_non_exhaustive()
    }
}
