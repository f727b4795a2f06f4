//! The parameters of the route.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde::de::value::SeqDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Visitor};

use super::text::{Pairs, Values};
use crate::rejection::InvalidText;
use crate::{Context, FromRequestParts, Rejection, Request};

/// The parameters of the route's pattern, percent-decoded: one, a tuple in their order, or a structure by their names. 400
/// where one is not of its type, or not UTF-8.
///
/// ```
/// use serde::Deserialize;
/// use tayet::{Path, Router};
///
/// #[derive(Deserialize)]
/// struct Seat {
///     row: u32,
///     letter: char,
/// }
///
/// let app: Router = Router::new()
///     .get("/rows/{row}", |Path(row): Path<u32>| format!("row {row}"))
///     .get("/rows/{row}/{letter}", |Path((row, letter)): Path<(u32, char)>| format!("{row}{letter}"))
///     .get("/seats/{row}/{letter}", |Path(seat): Path<Seat>| format!("{}{}", seat.row, seat.letter));
///
/// let client = tayet::testing::TestClient::new(app);
/// assert_eq!(client.get("/rows/7").send().text(), "row 7");
/// assert_eq!(client.get("/rows/7/%C3%BC").send().text(), "7ü");
/// assert_eq!(client.get("/seats/7/F").send().text(), "7F");
/// assert!(client.get("/rows/x").send().text().contains(r#"the path: `row`: \"x\" is not an integer"#));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path<T>(pub T);

impl<S, T: DeserializeOwned> FromRequestParts<S> for Path<T> {
    type Rejection = Rejection;

    fn from_request_parts(request: &mut Request, context: Context<'_, S>) -> Result<Self, Rejection> {
        let parameters = parameters(request, context).map_err(Rejection::Path)?;
        T::deserialize(Parameters(parameters)).map(Self).map_err(Rejection::Path)
    }

    /// `None` on a route without parameters.
    fn optional_from_request_parts(
        request: &mut Request,
        context: Context<'_, S>,
    ) -> Result<Option<Self>, Rejection> {
        if request.captures().is_empty() {
            return Ok(None);
        }
        Self::from_request_parts(request, context).map(Some)
    }
}

type Parameter<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The named parameters with their values, decoded.
fn parameters<'a, S>(
    request: &'a Request,
    context: Context<'a, S>,
) -> Result<Vec<Parameter<'a>>, InvalidText> {
    let spans = (0..).map_while(|index| request.captures().get(index));
    let named = context.route().parameters().zip(spans).filter_map(|(name, span)| Some((name?, span)));
    named
        .map(|(name, span)| match percent_decode_str(&request.path()[span]).decode_utf8() {
            Ok(value) => Ok((Cow::Borrowed(name), value)),
            Err(_) => {
                Err(InvalidText { parameter: Some(name.to_owned()), reason: "it is not UTF-8".to_owned() })
            }
        })
        .collect()
}

/// Parameters as a map, a sequence, or if there is only one, a value.
struct Parameters<'a>(Vec<Parameter<'a>>);

impl<'a> Parameters<'a> {
    fn values(self) -> impl Iterator<Item = Values<'a>> {
        self.0.into_iter().map(|(name, text)| Values { name: Some(name), texts: vec![text] })
    }

    fn only(self) -> Result<Values<'a>, InvalidText> {
        let count = self.0.len();
        let mut values = self.values();
        match (values.next(), count) {
            (Some(value), 1) => Ok(value),
            _ => {
                let reason = format!("one value is wanted of a route with {count} parameters");
                Err(InvalidText { parameter: None, reason })
            }
        }
    }

    fn sequence<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText>
    where
        'a: 'de,
    {
        visitor.visit_seq(SeqDeserializer::new(self.values()))
    }
}

macro_rules! of_the_only_one {
    ($($deserialize:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
            self.only()?.$deserialize(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Parameters<'de> {
    type Error = InvalidText;

    of_the_only_one! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        if self.0.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        self.sequence(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, InvalidText> {
        self.sequence(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        self.sequence(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        Pairs(self.0).deserialize_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        Pairs(self.0).deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }
}
