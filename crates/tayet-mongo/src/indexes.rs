//! Indexes that an application declares.

use std::time::Duration;

use mongodb::bson::{Bson, Document};
use mongodb::options::IndexOptions;
use mongodb::{Database, IndexModel};

use crate::Result;
use crate::mongo::Declared;

/// An index, to be declared with [`Mongo::index`](crate::Mongo::index). Whatever else the driver's [`IndexModel`] can say may be
/// declared, too.
///
/// ```
/// use std::time::Duration;
/// use tayet_mongo::{Index, doc};
///
/// let newest_first = Index::on(doc! { "placed": -1 });
/// let one_a_mail = Index::on(doc! { "email": 1 }).unique().sparse();
/// let sessions_end = Index::on(doc! { "last_seen": 1 }).expire_after(Duration::from_secs(3_600));
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    keys: Document,
    options: IndexOptions,
}

impl Index {
    /// Over these keys, each with its direction.
    pub fn on(keys: Document) -> Self {
        Self { keys, options: IndexOptions::default() }
    }

    /// No two documents may have the same values: whoever writes the second gets a
    /// [`DuplicateKey`](crate::MongoErrorKind::DuplicateKey).
    #[must_use]
    pub fn unique(mut self) -> Self {
        self.options.unique = Some(true);
        self
    }

    /// Documents that lack the keys are not in it.
    #[must_use]
    pub fn sparse(mut self) -> Self {
        self.options.sparse = Some(true);
        self
    }

    /// Only documents that this filter matches are in it.
    #[must_use]
    pub fn only(mut self, filter: Document) -> Self {
        self.options.partial_filter_expression = Some(filter);
        self
    }

    /// Documents are removed so long after the date that is its key.
    #[must_use]
    pub fn expire_after(mut self, age: Duration) -> Self {
        self.options.expire_after = Some(age);
        self
    }

    /// Its name. Default: made of the keys and directions.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.options.name = Some(name.into());
        self
    }
}

impl From<Index> for IndexModel {
    fn from(index: Index) -> Self {
        Self::builder().keys(index.keys).options(index.options).build()
    }
}

/// The first pause before indexes that could not be created are tried again; each one is twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(60);

/// Creates those that are not there yet.
pub(crate) async fn create(database: Database, declared: Vec<Declared>) -> Result<()> {
    for Declared { collection, index } in declared {
        database.collection::<Bson>(&collection).create_index(index).await?;
    }
    Ok(())
}

/// The same, as often as it takes for the server to be there.
pub(crate) async fn create_in_the_end(database: Database, declared: Vec<Declared>) {
    let mut pause = FIRST_RETRY;
    while let Err(error) = create(database.clone(), declared.clone()).await {
        if !error.blames_server() {
            tracing::error!("the declared indexes cannot be created: {error}");
            return;
        }
        tracing::debug!("the declared indexes cannot be created yet: {error}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_RETRY);
    }
}
