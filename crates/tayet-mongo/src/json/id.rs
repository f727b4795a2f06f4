//! Identifiers.

use std::fmt;
use std::str::FromStr;

use mongodb::bson::Bson;
use mongodb::bson::oid::ObjectId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
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

impl Id {
    /// A new one, which nobody else has.
    #[expect(clippy::new_without_default, reason = "each is another, so none is a default")]
    pub fn new() -> Self {
        Self(ObjectId::new())
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
        self.0.fmt(f)
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
        if writes_bson::<S>() { self.0.serialize(serializer) } else { serializer.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Bson::deserialize(deserializer)? {
            Bson::ObjectId(id) => Ok(Self(id)),
            Bson::String(text) => text.parse().map_err(de::Error::custom),
            _ => Err(de::Error::custom("an id is 24 hexadecimal digits")),
        }
    }
}
