//! What a route's path may look like.

use std::fmt;

use percent_encoding::percent_decode_str;
use tayet_engine::Captures;

/// A path with parameters, such as `/users/{id}` or `/files/{*path}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

/// One part between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// This text, percent-decoded.
    Literal(String),
    /// Any one segment that is not empty: `{name}` or `*`.
    One(Option<String>),
    /// All that is left, if that is not empty: `{*name}` or `**`.
    Rest(Option<String>),
}

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let refuse = |reason| Err(InvalidPattern { text: text.to_owned(), reason });
        let Some(path) = text.strip_prefix('/') else { return refuse("it must begin with a slash") };
        if path.contains(['?', '#']) {
            return refuse("it is a path, without a query or fragment");
        }
        let segments: Vec<Segment> = match path.split('/').map(Segment::parse).collect() {
            Ok(segments) => segments,
            Err(reason) => return refuse(reason),
        };
        let is_rest = |segment: &Segment| matches!(segment, Segment::Rest(_));
        if segments.iter().rev().skip(1).any(is_rest) {
            return refuse("what takes the rest of the path must stand at its end");
        }
        let pattern = Self { text: text.to_owned(), segments };
        if pattern.parameters().count() > Captures::MAX {
            return refuse("it has more than 8 parameters");
        }
        let names: Vec<&str> = pattern.parameters().flatten().collect();
        if names.iter().enumerate().any(|(at, name)| names[..at].contains(name)) {
            return refuse("two of its parameters have the same name");
        }
        Ok(pattern)
    }

    /// This pattern below `prefix`: the two texts joined, except that `/` adds nothing to a prefix.
    pub(crate) fn below(&self, prefix: &str) -> Result<Self, InvalidPattern> {
        match (prefix.trim_end_matches('/'), self.text.as_str()) {
            ("", text) => Self::parse(text),
            (_, "/") => Self::parse(prefix),
            (trimmed, text) => Self::parse(&format!("{trimmed}{text}")),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The parameters' names in their order; `None` for one without.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Option<&str>> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Literal(_) => None,
            Segment::One(name) | Segment::Rest(name) => Some(name.as_deref()),
        })
    }

    /// The path that it matches when it has no parameters and is the same encoded and decoded.
    pub(crate) fn exact_path(&self) -> Option<String> {
        let mut path = String::new();
        for segment in &self.segments {
            let Segment::Literal(literal) = segment else { return None };
            if literal.contains(['%', '/']) {
                return None;
            }
            path.push('/');
            path.push_str(literal);
        }
        Some(path)
    }

    /// Whether both match exactly the same paths.
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        let same = |(a, b): (&Segment, &Segment)| match (a, b) {
            (Segment::Literal(a), Segment::Literal(b)) => a == b,
            (Segment::One(_), Segment::One(_)) | (Segment::Rest(_), Segment::Rest(_)) => true,
            _ => false,
        };
        self.segments.len() == other.segments.len() && self.segments.iter().zip(&other.segments).all(same)
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "*" => return Ok(Self::One(None)),
            "**" => return Ok(Self::Rest(None)),
            _ => {}
        }
        if let Some(name) = text.strip_prefix("{*").and_then(|text| text.strip_suffix('}')) {
            return Ok(Self::Rest(Some(parse_name(name)?)));
        }
        let is_escaped = text.starts_with("{{");
        if let Some(name) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'))
            && !is_escaped
        {
            return Ok(Self::One(Some(parse_name(name)?)));
        }
        parse_literal(text).map(Self::Literal)
    }
}

fn parse_name(name: &str) -> Result<String, &'static str> {
    let is_valid = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_valid { Ok(name.to_owned()) } else { Err("a parameter's name is letters, digits, '_' and '-'") }
}

/// Takes doubled braces as single ones, and percent-encoded bytes as what they stand for.
fn parse_literal(text: &str) -> Result<String, &'static str> {
    let mut literal = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '{' | '}') && chars.next_if_eq(&c).is_none() {
            return Err("a parameter fills its segment; a literal brace is written twice");
        }
        literal.push(c);
    }
    match percent_decode_str(&literal).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err("what it percent-encodes is not UTF-8"),
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidPattern {
    text: String,
    reason: &'static str,
}

impl fmt::Display for InvalidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no pattern for a route: {}", self.text, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(text: &str) -> Vec<Segment> {
        Pattern::parse(text).unwrap().segments
    }

    fn literal(text: &str) -> Segment {
        Segment::Literal(text.to_owned())
    }

    #[test]
    fn every_kind_of_segment_is_read() {
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(segments("/"), [literal("")]);
        assert_eq!(segments("/a//b/"), [literal("a"), literal(""), literal("b"), literal("")]);
        assert_eq!(
            segments("/{id}/*/**"),
            [Segment::One(named("id")), Segment::One(None), Segment::Rest(None)]
        );
        assert_eq!(segments("/x/{*rest}"), [literal("x"), Segment::Rest(named("rest"))]);
        assert_eq!(segments("/{{a}}/a%20b/caf%C3%A9"), [literal("{a}"), literal("a b"), literal("café")]);
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (text, reason) in [
            ("", "begin with a slash"),
            ("users", "begin with a slash"),
            ("/a?b", "without a query"),
            ("/{*rest}/more", "at its end"),
            ("/**/more", "at its end"),
            ("/{}", "a parameter's name"),
            ("/{a b}", "a parameter's name"),
            ("/{name}.json", "fills its segment"),
            ("/a{name}", "fills its segment"),
            ("/{a}/{a}", "the same name"),
            ("/*/*/*/*/*/*/*/*/*", "more than 8"),
            ("/%FF", "not UTF-8"),
        ] {
            let error = Pattern::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason) && error.contains(&format!("`{text}`")), "{text}: {error}");
        }
    }

    #[test]
    fn nesting_joins_without_doubling_slashes() {
        for (prefix, text, joined) in [
            ("/api", "/users", "/api/users"),
            ("/api/", "/users", "/api/users"),
            ("/api", "/", "/api"),
            ("/api/", "/", "/api/"),
            ("/", "/users", "/users"),
            ("/{tenant}", "/{*rest}", "/{tenant}/{*rest}"),
        ] {
            assert_eq!(Pattern::parse(text).unwrap().below(prefix).unwrap().text(), joined);
        }
    }

    #[test]
    fn only_a_path_without_doubt_is_exact() {
        let exact = |text| Pattern::parse(text).unwrap().exact_path();
        assert_eq!(exact("/a/b").as_deref(), Some("/a/b"));
        assert_eq!(exact("/a%20b").as_deref(), Some("/a b"));
        assert_eq!(exact("/100%25"), None);
        assert_eq!(exact("/a%2Fb"), None);
        assert_eq!(exact("/{a}"), None);
    }
}
