//! Documents as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mongodb::bson::{Bson, serialize_to_bson};
use serde::{Serialize, Serializer};
use tayet::{IntoResponse, Json, Response};

use crate::MongoError;

use super::{Date, Decimal, Id};

/// JSON as people expect it, of what may hold BSON's own types, such as a [`Document`](mongodb::bson::Document) or a struct with
/// an [`ObjectId`](mongodb::bson::oid::ObjectId): identifiers are texts of 24 hexadecimal digits, dates texts as RFC 3339 has
/// them, decimals texts, binaries texts in base64.
///
/// A struct with [`Id`], [`Date`] and [`Decimal`] needs it not: [`Json`] does the same with less work.
///
/// ```
/// use tayet::IntoResponse;
/// use tayet_mongo::{Id, PlainJson, doc};
///
/// let id: Id = "507f1f77bcf86cd799439011".parse().unwrap();
/// let response = PlainJson(doc! { "_id": id, "n": 7 }).into_response();
/// let json = r#"{"_id":"507f1f77bcf86cd799439011","n":7}"#;
/// assert_eq!(response.body().as_bytes(), Some(json.as_bytes()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainJson<T>(pub T);

/// MongoDB's Extended JSON: identifiers are `{"$oid": "..."}`, dates `{"$date": ...}`, so that nothing of the types is lost.
///
/// ```
/// use tayet::IntoResponse;
/// use tayet_mongo::{ExtendedJson, Id};
///
/// let id: Id = "507f1f77bcf86cd799439011".parse().unwrap();
/// let json = r#"{"$oid":"507f1f77bcf86cd799439011"}"#;
/// assert_eq!(ExtendedJson(id).into_response().body().as_bytes(), Some(json.as_bytes()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtendedJson<T>(pub T);

impl<T: Serialize> IntoResponse for PlainJson<T> {
    fn into_response(self) -> Response {
        match serialize_to_bson(&self.0) {
            Ok(value) => Json(Plain(&value)).into_response(),
            Err(error) => MongoError::from(error).into_response(),
        }
    }
}

impl<T: Serialize> IntoResponse for ExtendedJson<T> {
    fn into_response(self) -> Response {
        match serialize_to_bson(&self.0) {
            Ok(value) => Json(value).into_response(),
            Err(error) => MongoError::from(error).into_response(),
        }
    }
}

/// A value whose types JSON is to have no names for.
struct Plain<'a>(&'a Bson);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Bson::Document(document) => {
                serializer.collect_map(document.iter().map(|(name, value)| (name, Plain(value))))
            }
            Bson::Array(values) => serializer.collect_seq(values.iter().map(Plain)),
            Bson::ObjectId(id) => Id(*id).serialize(serializer),
            Bson::DateTime(date) => Date(*date).serialize(serializer),
            Bson::Decimal128(number) => Decimal(*number).serialize(serializer),
            Bson::Binary(binary) => serializer.serialize_str(&STANDARD.encode(&binary.bytes)),
            Bson::Symbol(text) | Bson::JavaScriptCode(text) => serializer.serialize_str(text),
            Bson::RegularExpression(regex) => serializer.serialize_str(regex.pattern.as_str()),
            Bson::Timestamp(timestamp) => serializer.serialize_u32(timestamp.time),
            Bson::Undefined => serializer.serialize_unit(),
            other => other.serialize(serializer),
        }
    }
}
