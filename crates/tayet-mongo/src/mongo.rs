//! The handle that an application holds.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mongodb::IndexModel;
use mongodb::options::ConnectionString;
use once_cell::sync::OnceCell;
use tayet::ServerHandle;
use tayet::metrics::Metrics;

use crate::admission::{Admission, Ticket};
use crate::call::Patience;
use crate::config::connections_for;
use crate::driver::Driver;
use crate::indexes::DeclaredIndexes;
use crate::stats::Stats;
use crate::{Db, MongoConfig, MongoError, MongoErrorKind, Result};

/// The database that an application uses where its URI names none, as other drivers have it.
const DEFAULT_DATABASE: &str = "test";

/// A MongoDB server, or several, and a database there: a cheap clone, to be kept in the router's state.
///
/// Nothing is connected to, and no thread started, before the first query.
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use tayet::{Json, Router, Server};
/// use tayet_mongo::{Db, Mongo, Or404, doc};
///
/// #[derive(Serialize, Deserialize)]
/// struct User {
///     #[serde(rename = "_id")]
///     name: String,
///     age: u32,
/// }
///
/// fn user(db: Db, tayet::Path(name): tayet::Path<String>) -> tayet::Result<Json<User>> {
///     Ok(Json(db.collection::<User>("users").find_by_id(name)?.or_404()?))
/// }
///
/// fn main() -> tayet::Result {
///     let mongo = Mongo::new("mongodb://127.0.0.1:27017/shop")?;
///     let app = Router::new().get("/users/{name}", user).with_state(mongo);
///     Server::new(app).run()
/// }
/// ```
#[derive(Clone)]
pub struct Mongo(Arc<Inner>);

struct Inner {
    uri: ConnectionString,
    config: MongoConfig,
    database: Arc<str>,
    stats: Arc<Stats>,
    admission: Arc<Admission>,
    declared: Mutex<Option<DeclaredIndexes>>,
    /// How many connections go with the server's execution model, once a request has told of it.
    following: OnceCell<u32>,
    driver: OnceCell<Driver>,
}

impl Mongo {
    /// With a URI such as `mongodb://127.0.0.1:27017/shop`; without a path, the database is `test`.
    ///
    /// # Errors
    ///
    /// [`MongoErrorKind::Misconfigured`]: it is no such URI. Whether a server is there shows with the first query, or
    /// [`Mongo::ping`].
    pub fn new(uri: impl AsRef<str>) -> Result<Self> {
        Self::with_config(uri, MongoConfig::default())
    }

    /// The same with other limits.
    ///
    /// # Errors
    ///
    /// As [`Mongo::new`].
    pub fn with_config(uri: impl AsRef<str>, config: MongoConfig) -> Result<Self> {
        let uri = ConnectionString::parse(uri.as_ref())
            .map_err(|error| MongoError::because(MongoErrorKind::Misconfigured, error.kind))?;
        let stats = Arc::new(Stats::default());
        Ok(Self(Arc::new(Inner {
            database: uri.default_database.as_deref().unwrap_or(DEFAULT_DATABASE).into(),
            admission: Arc::new(Admission::new(config.breaker, Arc::clone(&stats))),
            uri,
            config,
            stats,
            declared: Mutex::default(),
            following: OnceCell::new(),
            driver: OnceCell::new(),
        })))
    }

    /// Declares an index. Declared ones are created behind the first query, and as often as it takes; or by
    /// [`Mongo::create_indexes`], which tells how that went.
    ///
    /// ```
    /// use tayet_mongo::{Index, Mongo, doc};
    ///
    /// let mongo = Mongo::new("mongodb://127.0.0.1/shop")?
    ///     .index("users", Index::on(doc! { "email": 1 }).unique())
    ///     .index("orders", Index::on(doc! { "user": 1, "placed": -1 }));
    /// # Ok::<(), tayet_mongo::MongoError>(())
    /// ```
    #[must_use]
    pub fn index(self, collection: impl Into<String>, index: impl Into<IndexModel>) -> Self {
        self.declared().get_or_insert_default().add(collection.into(), index.into());
        self
    }

    /// Creates the declared indexes that are not there yet, and waits for that.
    ///
    /// # Errors
    ///
    /// When there is no server, or an index cannot be, such as a unique one over what is not.
    pub fn create_indexes(&self) -> Result<()> {
        let declared = self.declared().clone().unwrap_or_default();
        self.db().run("index", move |context| declared.create(context.database))
    }

    /// Asks the server whether it is there.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn ping(&self) -> Result<()> {
        self.db().command(mongodb::bson::doc! { "ping": 1 }).map(drop)
    }

    /// The database, for work outside of requests. In handlers, [`Db`] is an extractor.
    pub fn db(&self) -> Db {
        Db::new(self.clone(), Patience::default())
    }

    /// Adds figures about the database to the server's: `mongo_query_duration_seconds` by operation, `mongo_query_errors_total`
    /// by kind, `mongo_queries_under_way`, `mongo_checkout_wait_seconds`, `mongo_connections`, `mongo_connections_busy` and
    /// `mongo_breaker_open`.
    #[must_use]
    pub fn metrics(self, metrics: &Metrics) -> Self {
        metrics.register(|registry| self.0.stats.register(registry));
        self
    }

    pub(crate) fn database(&self) -> &Arc<str> {
        &self.0.database
    }

    pub(crate) fn stats(&self) -> &Arc<Stats> {
        &self.0.stats
    }

    pub(crate) fn query_timeout(&self) -> Duration {
        Duration::from_millis(self.0.config.query_timeout_ms)
    }

    pub(crate) fn max_waiting_queries(&self) -> usize {
        self.0.config.max_waiting_queries
    }

    pub(crate) fn max_returned_queries(&self) -> usize {
        self.0.config.max_returned_queries
    }

    /// Lets a query through to the driver, if not more than so many wait for a connection.
    pub(crate) fn enter(&self, max_waiting: usize) -> Result<(&Driver, Ticket)> {
        let connections = self.0.driver.get().map_or(self.connections() as usize, Driver::connections);
        let ticket = self.0.admission.enter(connections + max_waiting)?;
        Ok((self.driver()?, ticket))
    }

    /// Learns how many handlers may run at the same time, unless that is known.
    pub(crate) fn follow(&self, server: impl FnOnce() -> Option<ServerHandle>) {
        if self.0.driver.get().is_none()
            && let Some(server) = server()
        {
            _ = self.0.following.set(connections_for(server.execution(), server.loops()));
        }
    }

    fn declared(&self) -> MutexGuard<'_, Option<DeclaredIndexes>> {
        self.0.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> u32 {
        let following = || self.0.following.get().copied().unwrap_or(crate::MAX_FOLLOWING_CONNECTIONS);
        self.0.config.max_connections.unwrap_or_else(following)
    }

    fn driver(&self) -> Result<&Driver> {
        self.0.driver.get_or_try_init(|| {
            let inner = &self.0;
            let driver = Driver::start(inner.uri.clone(), &inner.config, self.connections(), &inner.stats)?;
            if let Some(declared) = self.declared().clone() {
                let database = driver.client().database(&inner.database);
                driver.runtime().spawn(declared.create_in_the_end(database));
            }
            Ok(driver)
        })
    }
}

impl fmt::Debug for Mongo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the URI, which may have a password.
        f.debug_struct("Mongo").field("database", &self.0.database).finish_non_exhaustive()
    }
}
