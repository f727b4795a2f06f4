//! Paging by a key.

use std::cmp::Ordering;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mongodb::bson::{Bson, Document, RawDocumentBuf, deserialize_from_slice, doc, serialize_to_vec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cursor::decode;
use crate::{Collection, Mode, MongoError, MongoErrorKind, Result, Waiting};

/// How many a page has that does not say.
pub const DEFAULT_PAGE_ITEMS: u32 = 50;
/// Most that a page has, whatever a client asks for.
pub const MAX_PAGE_ITEMS: u32 = 1_000;

/// Which page a client wants: `Query(page): Query<PageQuery>` reads it of `?limit=20&after=...`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PageQuery {
    /// [`Page::next`] of the page before; none for the first.
    pub after: Option<String>,
    /// How many. Default: [`DEFAULT_PAGE_ITEMS`]; never more than [`MAX_PAGE_ITEMS`].
    pub limit: Option<u32>,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// What leads to the next one; none when this is the last.
    pub next: Option<String>,
}

/// A query for a page, made by [`Collection::page`].
///
/// The next page begins behind the last document of this one, found by an index: the thousandth costs what the first does, and
/// documents that come or go meanwhile shift nothing. The key must be there in every document, and of one type.
///
/// ```no_run
/// use serde::{Deserialize, Serialize};
/// use tayet::{Json, Query};
/// use tayet_mongo::{Db, Id, Page, PageQuery, Result, doc};
///
/// #[derive(Serialize, Deserialize)]
/// struct User {
///     #[serde(rename = "_id")]
///     id: Id,
///     name: String,
/// }
///
/// fn users(db: Db, Query(page): Query<PageQuery>) -> Result<Json<Page<User>>> {
///     Ok(Json(db.collection::<User>("users").page(doc! {}, page).by("name").run()?))
/// }
/// ```
#[must_use = "it is sent by `run`"]
pub struct Paged<'a, T, M = Waiting> {
    collection: &'a Collection<T, M>,
    filter: Document,
    page: PageQuery,
    key: String,
    direction: Ordering,
}

/// Behind which document a page begins.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    key: Bson,
    id: Bson,
}

impl<'a, T, M> Paged<'a, T, M> {
    pub(crate) fn new(collection: &'a Collection<T, M>, filter: Document, page: PageQuery) -> Self {
        Self { collection, filter, page, key: "_id".to_owned(), direction: Ordering::Greater }
    }

    /// By this field, and `_id` where it is the same. Default: `_id` alone.
    pub fn by(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// From the last to the first.
    pub fn descending(mut self) -> Self {
        self.direction = Ordering::Less;
        self
    }
}

impl<T: DeserializeOwned + Send + 'static, M: Mode> Paged<'_, T, M> {
    /// Asks for it.
    ///
    /// # Errors
    ///
    /// [`MongoErrorKind::InvalidPage`] (400) where [`PageQuery::after`] is none; and when there is no server, or a document
    /// is not a `T`.
    pub fn run(self) -> M::Answer<Page<T>> {
        let limit = self.page.limit.unwrap_or(DEFAULT_PAGE_ITEMS).clamp(1, MAX_PAGE_ITEMS);
        let place = match self.page.after.as_deref().map(Place::parse).transpose() {
            Ok(place) => place,
            Err(error) => return M::answer(Err(error)),
        };
        let filter = match place {
            Some(place) => doc! { "$and": [self.filter.clone(), place.behind(&self.key, self.direction)] },
            None => self.filter.clone(),
        };
        let sort = self.sort();
        // One more tells whether there is a next page.
        let find = self.collection.find(filter).sort(sort).limit(limit + 1).batch_size(limit + 2);
        find.read_all(move |documents| Page::of(documents, limit as usize, &self.key))
    }

    fn sort(&self) -> Document {
        let direction = if self.direction == Ordering::Less { -1 } else { 1 };
        let mut sort = doc! { &self.key: direction };
        sort.entry("_id".to_owned()).or_insert(Bson::Int32(direction));
        sort
    }
}

impl<T: DeserializeOwned> Page<T> {
    /// Of the documents on it, and one more where there is a next one.
    fn of(mut documents: Vec<RawDocumentBuf>, limit: usize, key: &str) -> Result<Self> {
        let has_more = documents.len() > limit;
        documents.truncate(limit);
        let items = documents.iter().map(|document| decode(document)).collect::<Result<_>>()?;
        let last = documents.last().filter(|_| has_more);
        Ok(Self { items, next: last.map(|last| Place::of(last, key)?.format()).transpose()? })
    }
}

impl Place {
    fn of(document: &RawDocumentBuf, key: &str) -> Result<Self> {
        let document = Document::try_from(document)?;
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        Ok(Self { key: value_at(&document, key).cloned().unwrap_or(Bson::Null), id })
    }

    /// What matches everything behind it. Values are never taken for operators.
    fn behind(self, key: &str, direction: Ordering) -> Document {
        let operator = if direction == Ordering::Less { "$lt" } else { "$gt" };
        if key == "_id" {
            return doc! { "_id": { operator: self.id } };
        }
        doc! { "$or": [
            { key: { operator: self.key.clone() } },
            { key: { "$eq": self.key }, "_id": { operator: self.id } },
        ] }
    }

    fn parse(text: &str) -> Result<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        let place = bytes.and_then(|bytes| deserialize_from_slice(&bytes).ok());
        place.ok_or(MongoError::of_kind(MongoErrorKind::InvalidPage))
    }

    fn format(&self) -> Result<String> {
        Ok(URL_SAFE_NO_PAD.encode(serialize_to_vec(self)?))
    }
}

/// The value at a dotted path.
fn value_at<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((first, rest)) => value_at(document.get_document(first).ok()?, rest),
    }
}

impl<T, M> fmt::Debug for Paged<'_, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paged").field("page", &self.page).field("key", &self.key).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Id;

    #[test]
    fn a_place_survives_its_journey() {
        let id = Id::new();
        let document = doc! { "_id": id, "a": { "b": "x" } };
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        for (key, value) in [("a.b", Bson::from("x")), ("_id", id.into()), ("gone", Bson::Null)] {
            let place = Place::of(&raw, key).unwrap();
            assert_eq!(place, Place { key: value, id: id.into() });
            assert_eq!(Place::parse(&place.format().unwrap()).unwrap(), place);
        }
    }

    #[test]
    fn nonsense_is_no_place() {
        for text in ["", "!", "AAAA", "e30"] {
            assert_eq!(Place::parse(text).unwrap_err().kind(), MongoErrorKind::InvalidPage, "{text}");
        }
    }

    #[test]
    fn what_a_client_sends_is_compared_and_never_run() {
        let forged = Place { key: doc! { "$ne": 1 }.into(), id: doc! { "$where": "x" }.into() };
        let expected = doc! { "$or": [
            { "name": { "$lt": { "$ne": 1 } } },
            { "name": { "$eq": { "$ne": 1 } }, "_id": { "$lt": { "$where": "x" } } },
        ] };
        assert_eq!(forged.behind("name", Ordering::Less), expected);
    }
}
