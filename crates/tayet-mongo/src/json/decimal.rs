//! Decimal numbers.

use std::fmt;
use std::str::FromStr;

use mongodb::bson::{Bson, Decimal128};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tayet::{Problem, StatusCode};

use super::writes_bson;

/// A decimal number of up to 34 digits: a [`Decimal128`] in the database, and a text such as `"19.90"` in JSON, whose numbers
/// most programs read as binary ones. Numbers are read as well.
#[derive(Clone, Copy, PartialEq)]
pub struct Decimal(pub Decimal128);

/// A text that is no decimal number. As an error of a handler it is a 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDecimal(Problem);

impl FromStr for Decimal {
    type Err = InvalidDecimal;

    fn from_str(text: &str) -> Result<Self, InvalidDecimal> {
        let problem = || Problem::new(StatusCode::BAD_REQUEST).with_detail("a decimal number is like 19.90");
        text.parse().map(Self).map_err(|_| InvalidDecimal(problem()))
    }
}

impl fmt::Display for InvalidDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.detail())
    }
}

impl std::error::Error for InvalidDecimal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

impl From<Decimal128> for Decimal {
    fn from(number: Decimal128) -> Self {
        Self(number)
    }
}

impl From<Decimal> for Bson {
    fn from(number: Decimal) -> Self {
        number.0.into()
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if writes_bson::<S>() { self.0.serialize(serializer) } else { serializer.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Bson::deserialize(deserializer)? {
            Bson::Decimal128(number) => return Ok(Self(number)),
            Bson::String(text) => text,
            Bson::Int32(number) => number.to_string(),
            Bson::Int64(number) => number.to_string(),
            Bson::Double(number) => number.to_string(),
            _ => return Err(de::Error::custom("a decimal number is like 19.90")),
        };
        text.parse().map_err(de::Error::custom)
    }
}
