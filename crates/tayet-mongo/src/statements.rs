//! Filters and updates that are wanted often.

use mongodb::bson::{Bson, Document, doc, serialize_to_document};
use serde::Serialize;

use crate::Result;

/// Matches the document with this `_id`.
///
/// ```
/// assert_eq!(tayet_mongo::by_id("ada"), tayet_mongo::doc! { "_id": "ada" });
/// ```
pub fn by_id(id: impl Into<Bson>) -> Document {
    doc! { "_id": id.into() }
}

/// An update that sets the fields of a value, and leaves others as they are.
///
/// ```
/// use serde::Serialize;
/// use tayet_mongo::{doc, set};
///
/// #[derive(Serialize)]
/// struct Change {
///     name: String,
///     #[serde(skip_serializing_if = "Option::is_none")]
///     phone: Option<String>,
/// }
///
/// let change = Change { name: "Ada".to_owned(), phone: None };
/// assert_eq!(set(&change)?, doc! { "$set": { "name": "Ada" } });
/// # Ok::<(), tayet_mongo::MongoError>(())
/// ```
///
/// # Errors
///
/// When the value is no document.
pub fn set(fields: &impl Serialize) -> Result<Document> {
    Ok(doc! { "$set": serialize_to_document(fields)? })
}
