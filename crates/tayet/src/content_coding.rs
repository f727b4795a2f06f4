//! Content codings, and which of them a client accepts.

use std::fmt;

use http::header;

use crate::Request;

/// How content is compressed: the content codings (RFC 9110 section 8.4.1, RFC 7932, RFC 9659) that browsers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContentCoding {
    /// `gzip`, which everything knows.
    Gzip,
    /// `deflate`: the zlib format.
    Deflate,
    /// `br`: Brotli.
    Brotli,
    /// `zstd`: Zstandard, with a window of at most 8 MiB.
    Zstd,
}

impl ContentCoding {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gzip, Self::Deflate, Self::Brotli, Self::Zstd];

    /// Its name in `Content-Encoding` and `Accept-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The coding of this name, whatever its case; `x-gzip` is `gzip`.
    ///
    /// ```
    /// use tayet::ContentCoding;
    ///
    /// assert_eq!(ContentCoding::from_name("BR"), Some(ContentCoding::Brotli));
    /// assert_eq!(ContentCoding::from_name("compress"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("x-gzip") {
            return Some(Self::Gzip);
        }
        Self::ALL.into_iter().find(|coding| coding.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for ContentCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a request's `Accept-Encoding` says (RFC 9110 section 12.5.3).
///
/// What is malformed in it, or unknown, is passed over.
///
/// ```
/// use tayet::{AcceptEncoding, ContentCoding};
///
/// let accepted = AcceptEncoding::parse("gzip;q=0.5, br, *;q=0");
/// assert_eq!(accepted.preferred(&ContentCoding::ALL), Some(ContentCoding::Brotli));
/// assert_eq!(accepted.preferred(&[ContentCoding::Gzip, ContentCoding::Zstd]), Some(ContentCoding::Gzip));
/// assert!(!accepted.allows_identity());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptEncoding {
    /// In the order of [`ContentCoding::ALL`].
    codings: [Option<Weight>; ContentCoding::ALL.len()],
    identity: Option<Weight>,
    /// Of `*`: all that is not named.
    others: Option<Weight>,
}

/// A quality value, in thousandths.
type Weight = u16;

const FULL_WEIGHT: Weight = 1000;

impl AcceptEncoding {
    /// Reads the value of the field.
    pub fn parse(value: &str) -> Self {
        let mut accepted = Self::default();
        accepted.add(value);
        accepted
    }

    /// Reads all fields of that name; without one, a client wants its content as it is.
    pub fn of(request: &Request) -> Self {
        let mut accepted = Self::default();
        request.header_all(header::ACCEPT_ENCODING.as_str()).for_each(|value| accepted.add(value));
        accepted
    }

    /// The best of the codings that are `offered`: what the client gives the greatest weight, and of equals the one that is
    /// offered first. `None` where it accepts none of them, or would rather have the content as it is.
    pub fn preferred(&self, offered: &[ContentCoding]) -> Option<ContentCoding> {
        let mut best = None;
        let mut best_weight = self.identity.unwrap_or(0).max(1) - 1;
        for &coding in offered {
            let weight = self.weight(coding);
            if weight > best_weight {
                (best, best_weight) = (Some(coding), weight);
            }
        }
        best
    }

    /// Whether content may come as it is, without a coding: mostly, since only `identity;q=0`, or `*;q=0` without a word on
    /// `identity`, says no.
    pub fn allows_identity(&self) -> bool {
        self.identity.or(self.others) != Some(0)
    }

    fn weight(&self, coding: ContentCoding) -> Weight {
        self.codings[coding as usize].or(self.others).unwrap_or(0)
    }

    fn add(&mut self, value: &str) {
        for element in value.split(',') {
            let mut parts = element.split(';').map(trim);
            let name = parts.next().unwrap_or_default();
            let Some(weight) = weight_of(parts) else { continue };
            let place = if name == "*" {
                &mut self.others
            } else if name.eq_ignore_ascii_case("identity") {
                &mut self.identity
            } else if let Some(coding) = ContentCoding::from_name(name) {
                &mut self.codings[coding as usize]
            } else {
                continue;
            };
            place.get_or_insert(weight);
        }
    }
}

/// The weight among an element's parameters, if they are well-formed.
fn weight_of<'a>(mut parameters: impl Iterator<Item = &'a str>) -> Option<Weight> {
    let Some(parameter) = parameters.next() else { return Some(FULL_WEIGHT) };
    let (name, value) = parameter.split_once('=')?;
    let is_weight = name.eq_ignore_ascii_case("q") && parameters.next().is_none();
    if is_weight { thousandths(value) } else { None }
}

/// `qvalue` of RFC 9110 section 12.4.2: 0 or 1 with up to three digits behind the point, and at most 1.
fn thousandths(value: &str) -> Option<Weight> {
    let (whole, digits) = value.split_once('.').unwrap_or((value, ""));
    if digits.len() > 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let padded = digits.bytes().map(|digit| Weight::from(digit - b'0')).chain([0; 3]);
    let fraction = padded.take(3).fold(0, |sum, digit| 10 * sum + digit);
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(FULL_WEIGHT),
        _ => None,
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::ContentCoding::{Brotli, Deflate, Gzip, Zstd};
    use super::*;

    #[test]
    fn the_weightiest_is_preferred_and_of_equals_the_first_offered() {
        let offered = [Zstd, Brotli, Gzip, Deflate];
        for (value, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Brotli)),
            ("gzip;q=0.9, br;q=0.8", Some(Gzip)),
            ("gzip;q=0.001", Some(Gzip)),
            ("gzip;q=0", None),
            ("GZIP", Some(Gzip)),
            ("x-gzip", Some(Gzip)),
            ("", None),
            ("*", Some(Zstd)),
            ("*;q=0.5, gzip", Some(Gzip)),
            ("*, zstd;q=0", Some(Brotli)),
            ("gzip, *;q=0", Some(Gzip)),
            ("identity", None),
            ("identity, gzip", Some(Gzip)),
            ("identity, gzip;q=0.9", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
            ("identity;q=0", None),
            ("identity;q=0, deflate;q=0.1", Some(Deflate)),
            ("compress, exi", None),
            (" \tgzip\t; q=0.5 , ,", Some(Gzip)),
            ("gzip;Q=1.000", Some(Gzip)),
        ] {
            assert_eq!(AcceptEncoding::parse(value).preferred(&offered), expected, "{value:?}");
        }
        assert_eq!(AcceptEncoding::parse("*").preferred(&[]), None);
    }

    #[test]
    fn what_is_malformed_is_passed_over() {
        for value in [
            "gzip;q=2",
            "gzip;q=1.001",
            "gzip;q=0.1234",
            "gzip;q=.5",
            "gzip;q=",
            "gzip;q",
            "gzip;q=-1",
            "gzip;level=9",
            "gzip;q=1;q=1",
            "gzip;q= 1",
            "gz ip",
            "gzip=1",
        ] {
            assert_eq!(AcceptEncoding::parse(value), AcceptEncoding::default(), "{value:?}");
        }
    }

    #[test]
    fn content_as_it_is_is_acceptable_unless_it_is_refused() {
        for (value, expected) in [
            ("", true),
            ("gzip", true),
            ("*", true),
            ("*;q=0", false),
            ("identity;q=0", false),
            ("identity;q=0.000", false),
            ("identity;q=0.001, *;q=0", true),
        ] {
            assert_eq!(AcceptEncoding::parse(value).allows_identity(), expected, "{value:?}");
        }
    }

    #[test]
    fn fields_of_several_lines_are_one() {
        let request = Request::builder("GET", "/");
        assert_eq!(AcceptEncoding::of(&request.clone().build().unwrap()), AcceptEncoding::default());
        let request = request.header("Accept-Encoding", "gzip;q=0.5").header("Accept-Encoding", "br");
        let accepted = AcceptEncoding::of(&request.build().unwrap());
        assert_eq!(accepted, AcceptEncoding::parse("br, gzip;q=0.5"));
    }
}
