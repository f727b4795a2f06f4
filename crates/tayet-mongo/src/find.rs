//! What to find, and how.

use std::fmt;

use mongodb::bson::{Document, RawDocumentBuf};
use mongodb::options::{Collation, FindOptions, Hint};
use serde::de::DeserializeOwned;

use crate::cursor::{Batches, decode};
use crate::db::Work;
use crate::{Collection, Cursor, Later, Mode, Result, Returning, Waiting};

/// A query to be run, made by [`Collection::find`].
///
/// ```no_run
/// # use tayet_mongo::{Db, Document, Result, doc};
/// # fn f(db: &Db) -> Result<()> {
/// let users = db.collection::<Document>("users");
/// for user in users.find(doc! { "age": { "$gte": 18 } }).sort(doc! { "name": 1 }).limit(20).run()? {
///     println!("{}", user?);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "it is sent by `run` or `all`"]
pub struct Find<'a, T, M = Waiting> {
    collection: &'a Collection<T, M>,
    filter: Document,
    options: FindOptions,
}

impl<'a, T, M> Find<'a, T, M> {
    pub(crate) fn new(collection: &'a Collection<T, M>, filter: Document) -> Self {
        Self { collection, filter, options: FindOptions::default() }
    }

    /// By which fields, in which directions.
    pub fn sort(mut self, sort: Document) -> Self {
        self.options.sort = Some(sort);
        self
    }

    /// At most so many.
    pub fn limit(mut self, limit: u32) -> Self {
        self.options.limit = Some(limit.into());
        self
    }

    /// Without the first so many, which the server reads all the same: to page, use [`Collection::page`].
    pub fn skip(mut self, skip: u64) -> Self {
        self.options.skip = Some(skip);
        self
    }

    /// Which fields; `T` must do with them.
    pub fn projection(mut self, projection: Document) -> Self {
        self.options.projection = Some(projection);
        self
    }

    /// How many the server sends at a time. Default: its own, 101 at first.
    pub fn batch_size(mut self, batch_size: u32) -> Self {
        self.options.batch_size = Some(batch_size);
        self
    }

    /// Which index to use.
    pub fn hint(mut self, hint: Hint) -> Self {
        self.options.hint = Some(hint);
        self
    }

    /// How texts compare.
    pub fn collation(mut self, collation: Collation) -> Self {
        self.options.collation = Some(collation);
        self
    }

    /// Whatever else the driver can ask for; in the place of what was asked for so far.
    pub fn options(mut self, options: FindOptions) -> Self {
        self.options = options;
        self
    }
}

impl<T: DeserializeOwned> Find<'_, T> {
    /// Sends it.
    ///
    /// # Errors
    ///
    /// When there is no server, or it refuses.
    pub fn run(self) -> Result<Cursor<T>> {
        let Self { collection, filter, mut options } = self;
        let fetched = collection.run("find", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let batches = Batches::find(&documents, filter, options, work.session).await?;
            batches.fetch().await
        })?;
        Ok(Cursor::new(collection.db().clone(), fetched))
    }

    /// All that it finds, in memory: say how many that may be ([`Find::limit`]).
    ///
    /// # Errors
    ///
    /// As [`Find::run`], and when a document is not a `T`.
    pub fn all(self) -> Result<Vec<T>> {
        self.run()?.collect()
    }
}

impl<T: DeserializeOwned + Send + 'static> Find<'_, T, Returning> {
    /// All that it finds, in memory: say how many that may be ([`Find::limit`]).
    pub fn all(self) -> Later<Vec<T>> {
        self.read_all(|documents| documents.iter().map(|document| decode(document)).collect())
    }
}

impl<T, M: Mode> Find<'_, T, M> {
    /// Has all of it fetched, and read.
    pub(crate) fn read_all<U: Send + 'static>(
        self,
        read: impl FnOnce(Vec<RawDocumentBuf>) -> Result<U> + Send + 'static,
    ) -> M::Answer<U> {
        let Self { collection, filter, mut options } = self;
        let fetch = |documents, work: Work| async move {
            options.max_time.get_or_insert(work.max_time);
            Batches::find(&documents, filter, options, work.session).await?.fetch_all().await
        };
        collection.run_and_read("find", fetch, read)
    }
}

impl<T, M> fmt::Debug for Find<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Find").field("filter", &self.filter).finish_non_exhaustive()
    }
}
