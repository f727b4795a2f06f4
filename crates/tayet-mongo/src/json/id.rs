//! Identifiers.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use mongodb::bson::Bson;
use mongodb::bson::oid::ObjectId;
use serde::de::{self, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tayet::{Problem, StatusCode};

use super::writes_bson;

/// An identifier: an [`ObjectId`] in the database, and 24 hexadecimal digits in JSON, in paths and in queries.
///
/// `Path(id): Path<Id>` answers 400 to what is none.
///
/// ```
/// use tayet::{Path, Router};
/// use tayet_mongo::Id;
///
/// let app: Router = Router::new().get("/{id}", |Path(id): Path<Id>| id.to_string());
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.get("/507f1f77bcf86cd799439011").send().text(), "507f1f77bcf86cd799439011");
/// assert_eq!(client.get("/507f").send().status(), 400);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub ObjectId);

/// How an identifier is written outside of the database.
const TEXT_BYTES: usize = 24;

impl Id {
    /// A new one, which nobody else has.
    #[expect(clippy::new_without_default, reason = "each is another, so none is a default")]
    pub fn new() -> Self {
        Self(ObjectId::new())
    }

    /// Does something with its text, for which nothing is allocated.
    fn with_text<T>(self, act: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; TEXT_BYTES];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0.bytes()) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        act(str::from_utf8(&text).expect("digits are ASCII"))
    }
}

/// A text that is no identifier. As an error of a handler it is a 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidId(Problem);

impl FromStr for Id {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let problem = || Problem::new(StatusCode::BAD_REQUEST).with_detail("an id is 24 hexadecimal digits");
        ObjectId::parse_str(text).map(Self).map_err(|_| InvalidId(problem()))
    }
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.detail())
    }
}

impl std::error::Error for InvalidId {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.pad(text))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

impl From<ObjectId> for Id {
    fn from(id: ObjectId) -> Self {
        Self(id)
    }
}

impl From<Id> for ObjectId {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl From<Id> for Bson {
    fn from(id: Id) -> Self {
        id.0.into()
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if writes_bson::<S>() {
            self.0.serialize(serializer)
        } else {
            self.with_text(|text| serializer.serialize_str(text))
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(IdVisitor)
        } else {
            // What is read of a database: asked for its bytes, an identifier is not made a text first.
            deserializer.deserialize_bytes(IdVisitor)
        }
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id of 24 hexadecimal digits")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Id, E> {
        let bytes = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))?;
        Ok(Id(ObjectId::from_bytes(bytes)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
        text.parse().map_err(E::custom)
    }

    /// As extended JSON has it: `{"$oid": "507f1f77bcf86cd799439011"}`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Id, A::Error> {
        match map.next_key::<Cow<'_, str>>()? {
            Some(name) if name == "$oid" => {}
            _ => return Err(de::Error::invalid_type(Unexpected::Map, &self)),
        }
        let text = map.next_value::<Cow<'_, str>>()?;
        match map.next_key::<IgnoredAny>()? {
            None => self.visit_str(&text),
            Some(_) => Err(de::Error::invalid_length(2, &self)),
        }
    }
}
