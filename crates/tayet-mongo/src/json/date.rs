//! Dates.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use mongodb::bson::{Bson, DateTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use tayet::{Problem, StatusCode};

use super::writes_bson;

/// A moment to the millisecond: a [`DateTime`] in the database, and a text such as `2026-11-22T08:30:00Z` (RFC 3339) in JSON.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub DateTime);

impl Date {
    /// This moment.
    pub fn now() -> Self {
        Self(DateTime::now())
    }
}

/// A text that is no date. As an error of a handler it is a 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDate(Problem);

impl FromStr for Date {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, InvalidDate> {
        let problem =
            || Problem::new(StatusCode::BAD_REQUEST).with_detail("a date is like 2026-11-22T08:30:00Z");
        DateTime::parse_rfc3339_str(text).map(Self).map_err(|_| InvalidDate(problem()))
    }
}

impl fmt::Display for InvalidDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.detail())
    }
}

impl std::error::Error for InvalidDate {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// As RFC 3339 has it; before the year 0 and after 9999, as the count of milliseconds since 1970.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.try_to_rfc3339_string() {
            Ok(text) => f.write_str(&text),
            Err(_) => self.0.timestamp_millis().fmt(f),
        }
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Date({self})")
    }
}

impl From<DateTime> for Date {
    fn from(date: DateTime) -> Self {
        Self(date)
    }
}

impl From<SystemTime> for Date {
    fn from(time: SystemTime) -> Self {
        Self(time.into())
    }
}

impl From<Date> for Bson {
    fn from(date: Date) -> Self {
        date.0.into()
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if writes_bson::<S>() {
            return self.0.serialize(serializer);
        }
        let text = self.0.try_to_rfc3339_string();
        serializer.serialize_str(&text.map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Bson::deserialize(deserializer)? {
            Bson::DateTime(date) => Ok(Self(date)),
            Bson::String(text) => text.parse().map_err(de::Error::custom),
            _ => Err(de::Error::custom("a date is like 2026-11-22T08:30:00Z")),
        }
    }
}
