//! Many writes in few messages.

use std::borrow::Borrow;
use std::fmt;

use mongodb::bson::{
    Bson, Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc, serialize_to_document,
    serialize_to_raw_document_buf,
};
use serde::Serialize;

use crate::{Collection, MongoError, Result};

/// Most writes in a message.
pub const MAX_BULK_MESSAGE_WRITES: usize = 1_000;
/// Most bytes of writes in a message, unless a single one is larger.
pub const MAX_BULK_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Writes that are gathered and then sent in as few messages as will do, made by [`Collection::bulk`].
///
/// They are done in their order, and the first that fails ends it: what came before it is done. It works with every server, since
/// it uses the commands that single writes use.
///
/// ```no_run
/// use serde::Serialize;
/// use tayet_mongo::{Db, Result, doc};
///
/// #[derive(Serialize)]
/// struct Visit {
///     page: String,
/// }
///
/// # fn f(db: &Db) -> Result<()> {
/// let done = db
///     .collection::<Visit>("visits")
///     .bulk()
///     .insert(Visit { page: "/".to_owned() })
///     .update_many(doc! { "page": "/old" }, doc! { "$set": { "page": "/new" } })
///     .delete_many(doc! { "page": "/spam" })
///     .run()?;
/// println!("{} gone", done.deleted);
/// # Ok(())
/// # }
/// ```
#[must_use = "it is sent by `run`"]
pub struct Bulk<'a, T> {
    collection: &'a Collection<T>,
    writes: Vec<Write>,
    is_ordered: bool,
    /// Why a write could not be gathered.
    failure: Option<MongoError>,
}

/// What became of a [`Bulk`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BulkResult {
    /// Documents that were added by inserts.
    pub inserted: u64,
    /// Documents that updates and replacements found.
    pub matched: u64,
    /// Of those, the ones that are different now.
    pub modified: u64,
    /// Documents that were removed.
    pub deleted: u64,
    /// The `_id`s of documents that were added by upserts.
    pub upserted: Vec<Bson>,
}

struct Write {
    kind: Kind,
    statement: RawDocumentBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Insert,
    Update,
    Delete,
}

impl<'a, T> Bulk<'a, T> {
    pub(crate) fn new(collection: &'a Collection<T>) -> Self {
        Self { collection, writes: Vec::new(), is_ordered: true, failure: None }
    }

    /// The order does not matter: those of one kind go together, and those behind one that fails are done as well.
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// Changes the first document that matches.
    pub fn update_one(self, filter: Document, update: Document) -> Self {
        self.statement(Kind::Update, doc! { "q": filter, "u": update })
    }

    /// Changes the first document that matches, or adds one.
    pub fn upsert_one(self, filter: Document, update: Document) -> Self {
        self.statement(Kind::Update, doc! { "q": filter, "u": update, "upsert": true })
    }

    /// Changes every document that matches.
    pub fn update_many(self, filter: Document, update: Document) -> Self {
        self.statement(Kind::Update, doc! { "q": filter, "u": update, "multi": true })
    }

    /// Removes the first document that matches.
    pub fn delete_one(self, filter: Document) -> Self {
        self.statement(Kind::Delete, doc! { "q": filter, "limit": 1 })
    }

    /// Removes every document that matches.
    pub fn delete_many(self, filter: Document) -> Self {
        self.statement(Kind::Delete, doc! { "q": filter, "limit": 0 })
    }

    /// Sends them.
    ///
    /// # Errors
    ///
    /// When there is no server, or at the first write that fails, in the kind of which the error is.
    pub fn run(mut self) -> Result<BulkResult> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if !self.is_ordered {
            self.writes.sort_by_key(|write| write.kind as u8);
        }
        let mut result = BulkResult::default();
        let mut failure = None;
        let mut writes = self.writes.into_iter().peekable();
        while let Some((kind, statements)) = next_message(&mut writes) {
            let command = kind.command(self.collection.name(), statements, self.is_ordered);
            let reply = self.collection.run("bulk", |_, work| async move {
                let action = work.database.run_raw_command(command);
                Ok(perform!(work.session, action)?)
            })?;
            result.count(kind, &reply);
            if let Err(error) = check(&reply) {
                if self.is_ordered {
                    return Err(error);
                }
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(result), Err)
    }

    fn statement(self, kind: Kind, statement: Document) -> Self {
        let statement = RawDocumentBuf::try_from(&statement).map_err(MongoError::from);
        self.gather(kind, statement)
    }

    fn gather(mut self, kind: Kind, statement: Result<RawDocumentBuf>) -> Self {
        match statement {
            Ok(statement) => self.writes.push(Write { kind, statement }),
            Err(error) => _ = self.failure.get_or_insert(error),
        }
        self
    }
}

impl<T: Serialize> Bulk<'_, T> {
    /// Adds a document.
    pub fn insert(self, document: impl Borrow<T>) -> Self {
        let statement = serialize_to_raw_document_buf(document.borrow()).map_err(MongoError::from);
        self.gather(Kind::Insert, statement)
    }

    /// Puts a document in the place of the first that matches.
    pub fn replace_one(self, filter: Document, document: impl Borrow<T>) -> Self {
        match serialize_to_document(document.borrow()) {
            Ok(document) => self.statement(Kind::Update, doc! { "q": filter, "u": document }),
            Err(error) => self.gather(Kind::Update, Err(error.into())),
        }
    }
}

impl Kind {
    fn command(self, collection: &str, statements: RawArrayBuf, is_ordered: bool) -> RawDocumentBuf {
        match self {
            Self::Insert => rawdoc! { "insert": collection, "documents": statements, "ordered": is_ordered },
            Self::Update => rawdoc! { "update": collection, "updates": statements, "ordered": is_ordered },
            Self::Delete => rawdoc! { "delete": collection, "deletes": statements, "ordered": is_ordered },
        }
    }
}

impl BulkResult {
    fn count(&mut self, kind: Kind, reply: &Document) {
        let figure = |name| match reply.get(name) {
            Some(Bson::Int32(figure)) => u64::try_from(*figure).unwrap_or(0),
            Some(Bson::Int64(figure)) => u64::try_from(*figure).unwrap_or(0),
            Some(Bson::Double(figure)) => *figure as u64,
            _ => 0,
        };
        match kind {
            Kind::Insert => self.inserted += figure("n"),
            Kind::Delete => self.deleted += figure("n"),
            Kind::Update => {
                let upserted = reply.get_array("upserted").into_iter().flatten();
                let ids = upserted.filter_map(|upserted| upserted.as_document()?.get("_id").cloned());
                let before = self.upserted.len();
                self.upserted.extend(ids);
                self.matched += figure("n").saturating_sub((self.upserted.len() - before) as u64);
                self.modified += figure("nModified");
            }
        }
    }
}

/// The longest run of writes of one kind that goes into a message.
fn next_message(writes: &mut std::iter::Peekable<std::vec::IntoIter<Write>>) -> Option<(Kind, RawArrayBuf)> {
    let first = writes.next()?;
    let mut bytes = first.statement.as_bytes().len();
    let mut statements = RawArrayBuf::new();
    statements.push(first.statement);
    for _ in 1..MAX_BULK_MESSAGE_WRITES {
        let fits = |write: &Write| {
            write.kind == first.kind && bytes + write.statement.as_bytes().len() <= MAX_BULK_MESSAGE_BYTES
        };
        let Some(write) = writes.next_if(fits) else { break };
        bytes += write.statement.as_bytes().len();
        statements.push(write.statement);
    }
    Some((first.kind, statements))
}

fn check(reply: &Document) -> Result<()> {
    let refused = reply.get_array("writeErrors").into_iter().flatten().find_map(Bson::as_document);
    let refused = refused.or(reply.get_document("writeConcernError").ok());
    match refused {
        None => Ok(()),
        Some(error) => Err(MongoError::of_write(
            error.get_i32("code").unwrap_or(0),
            error.get_str("errmsg").unwrap_or(""),
        )),
    }
}

impl<T> fmt::Debug for Bulk<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MongoErrorKind;

    fn write(kind: Kind, bytes: usize) -> Write {
        Write { kind, statement: rawdoc! { "x": "y".repeat(bytes) } }
    }

    fn messages(writes: Vec<Write>) -> Vec<(Kind, usize)> {
        let mut writes = writes.into_iter().peekable();
        std::iter::from_fn(|| next_message(&mut writes))
            .map(|(kind, statements)| (kind, statements.into_iter().count()))
            .collect()
    }

    #[test]
    fn runs_of_one_kind_share_a_message() {
        let writes = [Kind::Insert, Kind::Insert, Kind::Delete, Kind::Insert].map(|kind| write(kind, 1));
        assert_eq!(messages(writes.into()), [(Kind::Insert, 2), (Kind::Delete, 1), (Kind::Insert, 1)]);
    }

    #[test]
    fn a_message_holds_only_so_much() {
        let many = (0..2 * MAX_BULK_MESSAGE_WRITES + 1).map(|_| write(Kind::Update, 1)).collect();
        let most = MAX_BULK_MESSAGE_WRITES;
        assert_eq!(messages(many), [(Kind::Update, most), (Kind::Update, most), (Kind::Update, 1)]);
        let large = [1, MAX_BULK_MESSAGE_BYTES, 1].map(|bytes| write(Kind::Insert, bytes));
        assert_eq!(messages(large.into()), [(Kind::Insert, 1); 3]);
    }

    #[test]
    fn replies_are_added_up() {
        let mut result = BulkResult::default();
        result.count(Kind::Insert, &doc! { "n": 2 });
        result.count(
            Kind::Update,
            &doc! { "n": 3_i64, "nModified": 1, "upserted": [{ "index": 0, "_id": 7 }] },
        );
        result.count(Kind::Delete, &doc! { "n": 4.0 });
        let expected =
            BulkResult { inserted: 2, matched: 2, modified: 1, deleted: 4, upserted: vec![Bson::Int32(7)] };
        assert_eq!(result, expected);
    }

    #[test]
    fn a_write_that_failed_is_an_error_of_its_kind() {
        assert!(check(&doc! { "n": 1, "ok": 1 }).is_ok());
        let reply = doc! { "writeErrors": [{ "index": 1, "code": 11_000, "errmsg": "dup" }] };
        assert_eq!(check(&reply).unwrap_err().kind(), MongoErrorKind::DuplicateKey);
    }
}
