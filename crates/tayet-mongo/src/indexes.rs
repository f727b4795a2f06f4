//! Indexes that an application declares.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use mongodb::bson::{Bson, Document};
use mongodb::options::IndexOptions;
use mongodb::{Database, IndexModel};

use crate::Result;

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

/// The indexes that an application declares.
///
/// How they are created is referred to from its default alone, so that a program that declares none does not have the driver's
/// code for it, some 80 KB.
#[derive(Clone)]
pub(crate) struct DeclaredIndexes {
    declared: Vec<(String, IndexModel)>,
    create_in_the_end: fn(Self, Database) -> Creation,
}

type Creation = Pin<Box<dyn Future<Output = ()> + Send>>;

impl DeclaredIndexes {
    /// Adds an index of this collection.
    pub(crate) fn add(&mut self, collection: String, index: IndexModel) {
        self.declared.push((collection, index));
    }

    /// Creates those that are not there yet.
    pub(crate) async fn create(self, database: Database) -> Result<()> {
        for (collection, index) in self.declared {
            database.collection::<Bson>(&collection).create_index(index).await?;
        }
        Ok(())
    }

    /// The same, as often as it takes for the server to be there.
    pub(crate) fn create_in_the_end(self, database: Database) -> Creation {
        (self.create_in_the_end)(self, database)
    }
}

impl Default for DeclaredIndexes {
    fn default() -> Self {
        Self {
            declared: Vec::new(),
            create_in_the_end: |declared, database| Box::pin(create_in_the_end(declared, database)),
        }
    }
}

async fn create_in_the_end(declared: DeclaredIndexes, database: Database) {
    let mut pause = FIRST_RETRY;
    while let Err(error) = declared.clone().create(database.clone()).await {
        if !error.blames_server() {
            tracing::error!("the declared indexes cannot be created: {error}");
            return;
        }
        tracing::debug!("the declared indexes cannot be created yet: {error}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_RETRY);
    }
}
