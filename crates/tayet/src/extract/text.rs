//! Values that come as text: the parameters of a path, a query or a form.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{CowStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};

use crate::rejection::InvalidText;

/// The values of one name, mostly one.
#[derive(Clone, Debug)]
pub(crate) struct Values<'a> {
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) texts: Vec<Cow<'a, str>>,
}

impl<'a> Values<'a> {
    /// The one value; several are an error.
    fn one(self) -> Result<(Option<Cow<'a, str>>, Cow<'a, str>), InvalidText> {
        let mut texts = self.texts.into_iter();
        match (texts.next(), texts.next()) {
            (Some(text), None) => Ok((self.name, text)),
            (None, _) => Err(invalid(self.name, "it is missing")),
            (_, Some(_)) => Err(invalid(self.name, "it is there more than once")),
        }
    }
}

/// Pairs as a map or structure: the values of one name are gathered.
pub(crate) struct Pairs<'a>(pub(crate) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Pairs<'a> {
    fn gathered(self) -> Vec<(Cow<'a, str>, Values<'a>)> {
        let mut pairs = self.0;
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut gathered: Vec<(Cow<'a, str>, Values<'a>)> = Vec::with_capacity(pairs.len());
        for (name, text) in pairs {
            match gathered.last_mut().filter(|(last, _)| *last == name) {
                Some((_, values)) => values.texts.push(text),
                None => gathered.push((name.clone(), Values { name: Some(name), texts: vec![text] })),
            }
        }
        gathered
    }
}

impl<'de> Deserializer<'de> for Pairs<'de> {
    type Error = InvalidText;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        let gathered = self.gathered().into_iter().map(|(name, values)| (Text(name), values));
        visitor.visit_map(MapDeserializer::new(gathered))
    }

    /// In the order in which they came.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        let pairs = self.0.into_iter().map(|(name, text)| (Text(name), Text(text)));
        visitor.visit_seq(MapDeserializer::new(pairs))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit_struct
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A text by itself.
struct Text<'a>(Cow<'a, str>);

impl<'de> IntoDeserializer<'de, InvalidText> for Text<'de> {
    type Deserializer = Values<'de>;

    fn into_deserializer(self) -> Values<'de> {
        Values { name: None, texts: vec![self.0] }
    }
}

impl<'de> IntoDeserializer<'de, InvalidText> for Values<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($deserialize:ident $visit:ident $type:ty: $expected:literal,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
            let (name, text) = self.one()?;
            match text.parse::<$type>() {
                Ok(value) => visitor.$visit(value).map_err(|error: InvalidText| error.of(name)),
                Err(_) => Err(invalid(name, format_args!("{text:?} is not {}", $expected))),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Values<'de> {
    type Error = InvalidText;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        let (name, text) = self.one()?;
        let visited = match text {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        };
        visited.map_err(|error: InvalidText| error.of(name))
    }

    parsed! {
        deserialize_bool visit_bool bool: "true or false",
        deserialize_i8 visit_i8 i8: "an integer from -128 to 127",
        deserialize_i16 visit_i16 i16: "an integer from -32768 to 32767",
        deserialize_i32 visit_i32 i32: "an integer of 32 bits",
        deserialize_i64 visit_i64 i64: "an integer of 64 bits",
        deserialize_i128 visit_i128 i128: "an integer of 128 bits",
        deserialize_u8 visit_u8 u8: "an integer from 0 to 255",
        deserialize_u16 visit_u16 u16: "an integer from 0 to 65535",
        deserialize_u32 visit_u32 u32: "an integer from 0 to 4294967295",
        deserialize_u64 visit_u64 u64: "an integer of 64 bits from 0 upwards",
        deserialize_u128 visit_u128 u128: "an integer of 128 bits from 0 upwards",
        deserialize_f32 visit_f32 f32: "a number",
        deserialize_f64 visit_f64 f64: "a number",
        deserialize_char visit_char char: "one character",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        let name = self.name;
        let each = self.texts.into_iter().map(Text);
        visitor.visit_seq(SeqDeserializer::new(each)).map_err(|error: InvalidText| error.of(name))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidText> {
        let (name, text) = self.one()?;
        let variant: CowStrDeserializer<'_, InvalidText> = text.into_deserializer();
        visitor.visit_enum(variant).map_err(|error| error.of(name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidText> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier
    }
}

impl InvalidText {
    /// The same, about this parameter if none is named yet.
    fn of(mut self, name: Option<Cow<'_, str>>) -> Self {
        self.parameter = self.parameter.or(name.map(Cow::into_owned));
        self
    }
}

impl de::Error for InvalidText {
    fn custom<T: fmt::Display>(message: T) -> Self {
        invalid(None, message)
    }
}

impl std::error::Error for InvalidText {}

fn invalid(name: Option<Cow<'_, str>>, reason: impl fmt::Display) -> InvalidText {
    InvalidText { parameter: name.map(Cow::into_owned), reason: reason.to_string() }
}

/// Reads `application/x-www-form-urlencoded` text.
pub(crate) fn from_urlencoded<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, InvalidText> {
    T::deserialize(Pairs(form_urlencoded::parse(text).collect()))
}
