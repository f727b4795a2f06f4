//! A collection of documents of one type.

use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use mongodb::bson::{Bson, Document, RawDocumentBuf, deserialize_from_bson, serialize_to_raw_document_buf};
use mongodb::error::ErrorKind;
use mongodb::options::{
    AggregateOptions, CountOptions, DeleteOptions, DistinctOptions, FindOneAndDeleteOptions,
    FindOneAndReplaceOptions, FindOneAndUpdateOptions, FindOneOptions, FindOptions, InsertManyOptions,
    ReplaceOptions, UpdateModifications, UpdateOptions,
};
use mongodb::results::UpdateResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cursor::{Batches, decode};
use crate::db::Work;
use crate::{Bulk, Cursor, Db, Find, Mode, PageQuery, Paged, Result, Returning, Waiting, by_id};

/// A collection whose documents are `T`s: a cheap value, made by [`Db::collection`].
///
/// Everything blocks until the server has answered, and returns a [`Result`]: that is what `M::Answer<R>` stands for, unless
/// [`Collection::later`] has made it a [`Later`](crate::Later). What ends in `_with` takes the driver's options as well. Every
/// method fails when there is no server, or it refuses, as [`MongoErrorKind`](crate::MongoErrorKind) has it.
pub struct Collection<T, M = Waiting> {
    db: Db,
    name: Arc<str>,
    documents: PhantomData<fn(T) -> (T, M)>,
}

impl<T> Collection<T> {
    /// The same collection, whose methods do not wait: they return a [`Later`](crate::Later), which the handler returns.
    ///
    /// ```no_run
    /// use tayet::{Json, Path};
    /// use tayet_mongo::{Db, Document, Id, Later, by_id};
    ///
    /// fn remove(db: Db, Path(id): Path<Id>) -> Later<Json<bool>> {
    ///     db.collection::<Document>("users").later().delete_one(by_id(id)).json()
    /// }
    /// ```
    pub fn later(&self) -> Collection<T, Returning> {
        Collection::new(self.db.clone(), Arc::clone(&self.name))
    }

    /// What the stages of a pipeline make of it.
    pub fn aggregate<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<Cursor<R>> {
        self.aggregate_with(pipeline, AggregateOptions::default())
    }

    /// What the stages of a pipeline make of it.
    pub fn aggregate_with<R: DeserializeOwned>(
        &self,
        pipeline: impl IntoIterator<Item = Document>,
        mut options: AggregateOptions,
    ) -> Result<Cursor<R>> {
        let pipeline = pipeline.into_iter().collect::<Vec<_>>();
        let fetched = self.run("aggregate", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let aggregate = documents.aggregate(pipeline).with_options(options);
            let batches = match work.session {
                None => Batches::Plain(aggregate.batch().await?),
                Some(session) => {
                    let cursor = aggregate.session(&mut *session.lock().await).batch().await?;
                    Batches::InSession(cursor, Arc::clone(&session))
                }
            };
            batches.fetch().await
        })?;
        Ok(Cursor::new(self.db.clone(), fetched))
    }

    /// Many writes in few messages: see [`Bulk`].
    pub fn bulk(&self) -> Bulk<'_, T> {
        Bulk::new(self)
    }
}

impl<T, M> Collection<T, M> {
    pub(crate) fn new(db: Db, name: Arc<str>) -> Self {
        Self { db, name, documents: PhantomData }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same collection with documents of another type.
    pub fn of<U>(&self) -> Collection<U, M> {
        Collection::new(self.db.clone(), Arc::clone(&self.name))
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }
}

impl<T, M: Mode> Collection<T, M> {
    /// How many documents match.
    pub fn count(&self, filter: Document) -> M::Answer<u64> {
        self.count_with(filter, CountOptions::default())
    }

    /// How many documents match.
    pub fn count_with(&self, filter: Document, mut options: CountOptions) -> M::Answer<u64> {
        self.run("count", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let action = documents.count_documents(filter).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }

    /// About how many documents there are, without looking at them. Not in transactions.
    pub fn estimated_count(&self) -> M::Answer<u64> {
        self.run("count", |documents, work| async move {
            Ok(documents.estimated_document_count().max_time(work.max_time).await?)
        })
    }

    /// The values that a field has in the documents that match.
    pub fn distinct<R: DeserializeOwned + Send + 'static>(
        &self,
        field: impl Into<String>,
        filter: Document,
    ) -> M::Answer<Vec<R>> {
        self.distinct_with(field, filter, DistinctOptions::default())
    }

    /// The values that a field has in the documents that match.
    pub fn distinct_with<R: DeserializeOwned + Send + 'static>(
        &self,
        field: impl Into<String>,
        filter: Document,
        options: DistinctOptions,
    ) -> M::Answer<Vec<R>> {
        let field = field.into();
        let ask = |documents: mongodb::Collection<RawDocumentBuf>, work: Work| async move {
            let ask = |options| documents.distinct(&field, filter.clone()).with_options(options);
            let mut timed = options.clone();
            timed.max_time.get_or_insert(work.max_time);
            Ok(match perform!(work.session, ask(timed)) {
                Err(error) if knows_no_max_time(&error) => perform!(work.session, ask(options))?,
                values => values?,
            })
        };
        let read = |value| Ok(deserialize_from_bson(value)?);
        self.run_and_read("distinct", ask, move |values| values.into_iter().map(read).collect())
    }

    /// Changes the first document that matches.
    pub fn update_one(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
    ) -> M::Answer<UpdateResult> {
        self.update_one_with(filter, update, UpdateOptions::default())
    }

    /// Changes the first document that matches.
    pub fn update_one_with(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
        options: UpdateOptions,
    ) -> M::Answer<UpdateResult> {
        let update = update.into();
        self.run("update", |documents, work| async move {
            let action = documents.update_one(filter, update).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }

    /// Changes every document that matches.
    pub fn update_many(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
    ) -> M::Answer<UpdateResult> {
        self.update_many_with(filter, update, UpdateOptions::default())
    }

    /// Changes every document that matches.
    pub fn update_many_with(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
        options: UpdateOptions,
    ) -> M::Answer<UpdateResult> {
        let update = update.into();
        self.run("update", |documents, work| async move {
            let action = documents.update_many(filter, update).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }

    /// Removes the first document that matches; `false` when there was none.
    pub fn delete_one(&self, filter: Document) -> M::Answer<bool> {
        self.delete_one_with(filter, DeleteOptions::default())
    }

    /// Removes the first document that matches; `false` when there was none.
    pub fn delete_one_with(&self, filter: Document, options: DeleteOptions) -> M::Answer<bool> {
        self.run("delete", |documents, work| async move {
            let action = documents.delete_one(filter).with_options(options);
            Ok(perform!(work.session, action)?.deleted_count > 0)
        })
    }

    /// Removes every document that matches, and says how many.
    pub fn delete_many(&self, filter: Document) -> M::Answer<u64> {
        self.delete_many_with(filter, DeleteOptions::default())
    }

    /// Removes every document that matches, and says how many.
    pub fn delete_many_with(&self, filter: Document, options: DeleteOptions) -> M::Answer<u64> {
        self.run("delete", |documents, work| async move {
            let action = documents.delete_many(filter).with_options(options);
            Ok(perform!(work.session, action)?.deleted_count)
        })
    }

    /// Removes the collection with its documents and indexes.
    pub fn drop(&self) -> M::Answer<()> {
        self.run("command", |documents, work| async move {
            let action = documents.drop();
            Ok(perform!(work.session, action)?)
        })
    }

    /// Has the driver do something with its documents as they are.
    pub(crate) fn run<F, R>(
        &self,
        operation: &'static str,
        work: impl FnOnce(mongodb::Collection<RawDocumentBuf>, Work) -> F + Send + 'static,
    ) -> M::Answer<R>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
    {
        self.run_and_read(operation, work, Ok)
    }

    /// The same; `read` makes the answer of what came of it.
    pub(crate) fn run_and_read<F, R, U>(
        &self,
        operation: &'static str,
        work: impl FnOnce(mongodb::Collection<RawDocumentBuf>, Work) -> F + Send + 'static,
        read: impl FnOnce(R) -> Result<U> + Send + 'static,
    ) -> M::Answer<U>
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Send + 'static,
        U: Send + 'static,
    {
        let name = Arc::clone(&self.name);
        M::perform(&self.db, operation, move |about| work(about.database.collection(&name), about), read)
    }
}

/// Reading.
impl<T: DeserializeOwned + Send + 'static, M: Mode> Collection<T, M> {
    /// The first document that matches, if one does.
    pub fn find_one(&self, filter: Document) -> M::Answer<Option<T>> {
        self.find_one_with(filter, FindOneOptions::default())
    }

    /// The first document that matches, if one does.
    pub fn find_one_with(&self, filter: Document, options: FindOneOptions) -> M::Answer<Option<T>> {
        let mut options = FindOptions::from(options);
        options.limit = Some(ONE_BATCH_OF_ONE);
        self.one("find", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            Batches::find(&documents, filter, options, work.session).await?.fetch_one().await
        })
    }

    /// The document with this `_id`.
    pub fn find_by_id(&self, id: impl Into<Bson>) -> M::Answer<Option<T>> {
        self.find_one(by_id(id))
    }

    /// The documents that match: [`Find`] says in which order, and how many.
    pub fn find(&self, filter: Document) -> Find<'_, T, M> {
        Find::new(self, filter)
    }

    /// One page of the documents that match, by a key: see [`Paged`].
    pub fn page(&self, filter: Document, page: PageQuery) -> Paged<'_, T, M> {
        Paged::new(self, filter, page)
    }

    /// Changes the first document that matches; what it was before, unless the options say otherwise.
    pub fn find_one_and_update(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
    ) -> M::Answer<Option<T>> {
        self.find_one_and_update_with(filter, update, FindOneAndUpdateOptions::default())
    }

    /// Changes the first document that matches; what it was before, unless the options say otherwise.
    pub fn find_one_and_update_with(
        &self,
        filter: Document,
        update: impl Into<UpdateModifications>,
        mut options: FindOneAndUpdateOptions,
    ) -> M::Answer<Option<T>> {
        let update = update.into();
        self.one("find_and_modify", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let action = documents.find_one_and_update(filter, update).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }

    /// Removes the first document that matches, and returns it.
    pub fn find_one_and_delete(&self, filter: Document) -> M::Answer<Option<T>> {
        self.find_one_and_delete_with(filter, FindOneAndDeleteOptions::default())
    }

    /// Removes the first document that matches, and returns it.
    pub fn find_one_and_delete_with(
        &self,
        filter: Document,
        mut options: FindOneAndDeleteOptions,
    ) -> M::Answer<Option<T>> {
        self.one("find_and_modify", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let action = documents.find_one_and_delete(filter).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }

    fn one<F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(mongodb::Collection<RawDocumentBuf>, Work) -> F + Send + 'static,
    ) -> M::Answer<Option<T>>
    where
        F: Future<Output = Result<Option<RawDocumentBuf>>> + Send + 'static,
    {
        self.run_and_read(operation, work, |found| found.map(|document| decode(&document)).transpose())
    }
}

/// Writing.
impl<T: Serialize, M: Mode> Collection<T, M> {
    /// Adds a document, and says what its `_id` is; one without gets one.
    pub fn insert_one(&self, document: impl Borrow<T>) -> M::Answer<Bson> {
        let document = match serialize_to_raw_document_buf(document.borrow()) {
            Ok(document) => document,
            Err(error) => return M::answer(Err(error.into())),
        };
        self.run("insert", |documents, work| async move {
            let action = documents.insert_one(document);
            Ok(perform!(work.session, action)?.inserted_id)
        })
    }

    /// Adds documents, and says what their `_id`s are, in the same order. At the first that fails it stops.
    pub fn insert_many(&self, documents: impl IntoIterator<Item = impl Borrow<T>>) -> M::Answer<Vec<Bson>> {
        self.insert_many_with(documents, InsertManyOptions::default())
    }

    /// Adds documents, and says what their `_id`s are, in the same order.
    pub fn insert_many_with(
        &self,
        documents: impl IntoIterator<Item = impl Borrow<T>>,
        options: InsertManyOptions,
    ) -> M::Answer<Vec<Bson>> {
        let added =
            documents.into_iter().map(|document| Ok(serialize_to_raw_document_buf(document.borrow())?));
        let added = match added.collect::<Result<Vec<_>>>() {
            Ok(added) if !added.is_empty() => added,
            nothing_or_error => return M::answer(nothing_or_error.map(|_| Vec::new())),
        };
        let add = |documents: mongodb::Collection<RawDocumentBuf>, work: Work| async move {
            let action = documents.insert_many(added).with_options(options);
            Ok(perform!(work.session, action)?.inserted_ids)
        };
        self.run_and_read("insert", add, |ids| {
            let mut ids = ids.into_iter().collect::<Vec<_>>();
            ids.sort_by_key(|(index, _)| *index);
            Ok(ids.into_iter().map(|(_, id)| id).collect())
        })
    }

    /// Puts a document in the place of the first that matches.
    pub fn replace_one(&self, filter: Document, document: impl Borrow<T>) -> M::Answer<UpdateResult> {
        self.replace_one_with(filter, document, ReplaceOptions::default())
    }

    /// Puts a document in the place of the first that matches.
    pub fn replace_one_with(
        &self,
        filter: Document,
        document: impl Borrow<T>,
        options: ReplaceOptions,
    ) -> M::Answer<UpdateResult> {
        let document = match serialize_to_raw_document_buf(document.borrow()) {
            Ok(document) => document,
            Err(error) => return M::answer(Err(error.into())),
        };
        self.run("update", |documents, work| async move {
            let action = documents.replace_one(filter, document).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }
}

/// Both.
impl<T: Serialize + DeserializeOwned + Send + 'static, M: Mode> Collection<T, M> {
    /// Puts a document in the place of the first that matches; what it was before, unless the options say otherwise.
    pub fn find_one_and_replace(&self, filter: Document, document: impl Borrow<T>) -> M::Answer<Option<T>> {
        self.find_one_and_replace_with(filter, document, FindOneAndReplaceOptions::default())
    }

    /// Puts a document in the place of the first that matches; what it was before, unless the options say otherwise.
    pub fn find_one_and_replace_with(
        &self,
        filter: Document,
        document: impl Borrow<T>,
        mut options: FindOneAndReplaceOptions,
    ) -> M::Answer<Option<T>> {
        let document = match serialize_to_raw_document_buf(document.borrow()) {
            Ok(document) => document,
            Err(error) => return M::answer(Err(error.into())),
        };
        self.one("find_and_modify", |documents, work| async move {
            options.max_time.get_or_insert(work.max_time);
            let action = documents.find_one_and_replace(filter, document).with_options(options);
            Ok(perform!(work.session, action)?)
        })
    }
}

/// What `find` takes for a limit where it is to send a document and forget about the rest.
const ONE_BATCH_OF_ONE: i64 = -1;

/// FerretDB's `distinct` refuses to be told how long it may take.
fn knows_no_max_time(error: &mongodb::error::Error) -> bool {
    const FAILED_TO_PARSE: i32 = 9;
    matches!(&*error.kind, ErrorKind::Command(error)
        if error.code == FAILED_TO_PARSE && error.message.contains("maxTimeMS"))
}

impl<T, M> Clone for Collection<T, M> {
    fn clone(&self) -> Self {
        self.of()
    }
}

impl<T, M> fmt::Debug for Collection<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}
