//! A database, for one request or for work outside of requests.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mongodb::Database;
use mongodb::bson::Document;
use tayet::{Context, FromRef, FromRequestParts, Request};

use crate::call::{Call, Patience};
use crate::session::Session;
use crate::stats::Stats;
use crate::{Collection, Later, Mongo, MongoError, MongoErrorKind, Result};

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
pub struct Work {
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

    /// Has the driver do something, and waits for it.
    pub(crate) fn run<F, R>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Work) -> F + Send + 'static,
    ) -> Result<R>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
    {
        let record = self.record(operation);
        let call = self.let_through(self.mongo.max_waiting_queries(), work);
        record.note(call.and_then(|call| call.wait(&self.patience)))
    }

    /// Has the driver do something when the handler has returned it, and read what came of it.
    pub(crate) fn later<F, R, U>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Work) -> F + Send + 'static,
        read: impl FnOnce(R) -> Result<U> + Send + 'static,
    ) -> Later<U>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
        U: Send + 'static,
    {
        if self.is_in_session() {
            let reason = "a transaction would be over before its query is asked";
            return Later::ready(Err(MongoError::because(MongoErrorKind::Failed, reason).into()));
        }
        let record = self.record(operation);
        match self.let_through(self.mongo.max_returned_queries(), work) {
            Ok(call) => {
                let runtime = call.runtime.clone();
                Later::asked(runtime, call.outcome(|result| Ok(read(record.note(result)?)?)))
            }
            Err(error) => Later::ready(record.note(Err(error)).map_err(Into::into)),
        }
    }

    /// Work for the driver, if fewer than so many wait for it beside those that have a connection.
    fn let_through<F>(
        &self,
        max_waiting: usize,
        work: impl FnOnce(Work) -> F + Send + 'static,
    ) -> Result<Call<impl FnOnce() -> F + Send + 'static>> {
        let left = self.patience.left(self.mongo.query_timeout())?;
        let (driver, ticket) = self.mongo.enter(max_waiting)?;
        let about = Work {
            database: driver.client().database(&self.database),
            max_time: left,
            session: self.session.clone(),
        };
        let begin = move || work(about);
        Ok(Call { runtime: driver.runtime().clone(), ticket, due: Instant::now() + left, begin })
    }

    fn record(&self, operation: &'static str) -> Record {
        let (stats, session) = (Arc::clone(self.mongo.stats()), self.session.clone());
        Record { operation, begun: Instant::now(), stats, session }
    }
}

/// What is to be noted of an operation.
struct Record {
    operation: &'static str,
    begun: Instant,
    stats: Arc<Stats>,
    session: Option<Arc<Session>>,
}

impl Record {
    /// It is over.
    fn note<R>(self, result: Result<R>) -> Result<R> {
        match &result {
            Ok(_) => self.stats.answered(self.operation, self.begun.elapsed().as_secs_f64()),
            Err(error) => self.note_error(error),
        }
        result
    }

    fn note_error(&self, error: &MongoError) {
        self.stats.failed(error);
        if let Some(session) = &self.session {
            session.note(error);
        }
        match error.kind() {
            // It names the servers that were tried. The breaker sees to it that there are few.
            MongoErrorKind::Unavailable if error.driver_error().is_some() => tracing::warn!("{error}"),
            MongoErrorKind::ClientGone => tracing::debug!("a client went while its query was under way"),
            _ => {}
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
