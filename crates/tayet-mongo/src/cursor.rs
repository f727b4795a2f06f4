//! What a query finds, batch by batch.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::StreamExt;
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, deserialize_from_slice};
use mongodb::options::FindOptions;
use mongodb::raw_batch_cursor::{RawBatch, RawBatchCursor, SessionRawBatchCursor};
use serde::de::DeserializeOwned;

use crate::session::Session;
use crate::{Db, MongoError, MongoErrorKind, Result};

/// What a query finds: an iterator that asks the server for the next batch when one is used up.
///
/// It holds one batch at a time. What is left of it when it is dropped is forgotten by the server.
pub struct Cursor<T> {
    db: Db,
    /// `None` when there are no more batches.
    batches: Option<Batches>,
    batch: std::vec::IntoIter<RawDocumentBuf>,
    documents: PhantomData<fn() -> T>,
}

/// Where batches come from.
pub(crate) enum Batches {
    Plain(RawBatchCursor),
    InSession(SessionRawBatchCursor, Arc<Session>),
}

/// A batch, and what has more of them.
pub(crate) type Fetched = (Vec<RawDocumentBuf>, Option<Batches>);

impl<T> Cursor<T> {
    pub(crate) fn new(db: Db, (batch, batches): Fetched) -> Self {
        Self { db, batches, batch: batch.into_iter(), documents: PhantomData }
    }

    /// The next document as the database has it.
    pub(crate) fn next_raw(&mut self) -> Result<Option<RawDocumentBuf>> {
        loop {
            if let Some(document) = self.batch.next() {
                return Ok(Some(document));
            }
            let Some(batches) = self.batches.take() else { return Ok(None) };
            let (batch, batches) = self.db.run("get_more", |_| batches.fetch())?;
            self.batches = batches;
            self.batch = batch.into_iter();
        }
    }
}

impl<T: DeserializeOwned> Iterator for Cursor<T> {
    type Item = Result<T>;

    /// After an error of the server's, there is nothing more.
    fn next(&mut self) -> Option<Result<T>> {
        let document = self.next_raw().transpose()?;
        Some(document.and_then(|document| decode(&document)))
    }
}

impl Batches {
    /// What the driver finds, in the session if there is one.
    pub(crate) async fn find(
        documents: &mongodb::Collection<RawDocumentBuf>,
        filter: Document,
        options: FindOptions,
        session: Option<Arc<Session>>,
    ) -> Result<Self> {
        let find = documents.find(filter).with_options(options);
        // Their futures are large, and would be copied with what is around them: in boxes they stay where they are.
        Ok(match session {
            None => Self::Plain(Box::pin(find.batch()).await?),
            Some(session) => {
                let cursor = Box::pin(find.session(&mut *session.lock().await).batch()).await?;
                Self::InSession(cursor, Arc::clone(&session))
            }
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<RawBatch>> {
        let batch = match self {
            Self::Plain(cursor) => cursor.next().await,
            Self::InSession(cursor, session) => cursor.stream(&mut *session.lock().await).next().await,
        };
        Ok(batch.transpose()?)
    }

    pub(crate) async fn fetch(mut self) -> Result<Fetched> {
        let Some(batch) = self.next().await? else { return Ok((Vec::new(), None)) };
        let documents = documents(&batch)?.map(|document| Ok(document?.to_owned()));
        let documents = documents.collect::<Result<_>>()?;
        Ok((documents, (!is_last(&batch)).then_some(self)))
    }

    /// The first document, copied out of its batch, which has room for many.
    pub(crate) async fn fetch_one(mut self) -> Result<Option<RawDocumentBuf>> {
        let Some(batch) = self.next().await? else { return Ok(None) };
        documents(&batch)?.next().map(|document| Ok(document?.to_owned())).transpose()
    }

    pub(crate) async fn fetch_all(self) -> Result<Vec<RawDocumentBuf>> {
        let (mut documents, mut more) = self.fetch().await?;
        while let Some(batches) = more {
            let (batch, rest) = batches.fetch().await?;
            documents.extend(batch);
            more = rest;
        }
        Ok(documents)
    }
}

fn documents(batch: &RawBatch) -> Result<impl Iterator<Item = Result<&RawDocument>>> {
    let none = || MongoError::because(MongoErrorKind::Data, "a batch of other things than documents");
    Ok(batch.doc_slices()?.into_iter().map(move |document| document?.as_document().ok_or_else(none)))
}

/// Whether the server has no more of it.
fn is_last(batch: &RawBatch) -> bool {
    let id = batch.as_raw_document().get_document("cursor").and_then(|cursor| cursor.get_i64("id"));
    id.is_ok_and(|id| id == 0)
}

pub(crate) fn decode<T: DeserializeOwned>(document: &RawDocument) -> Result<T> {
    Ok(deserialize_from_slice(document.as_bytes())?)
}

impl<T> fmt::Debug for Cursor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").field("batch", &self.batch.len()).finish_non_exhaustive()
    }
}
