//! What BSON has and JSON has not: identifiers, dates and decimals.

mod date;
mod decimal;
mod id;
mod responses;

use serde::Serializer;

pub use date::{Date, InvalidDate};
pub use decimal::{Decimal, InvalidDecimal};
pub use id::{Id, InvalidId};
pub use responses::{ExtendedJson, PlainJson};

/// Whether what is written is BSON, which has these types, or something else, such as JSON, which gets texts.
///
/// BSON's serializers do not tell otherwise: they call themselves human-readable, as JSON's do.
fn writes_bson<S: Serializer>() -> bool {
    std::any::type_name::<S>().contains("bson::")
}
