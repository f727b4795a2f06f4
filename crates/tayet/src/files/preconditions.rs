//! Conditional requests (RFC 9110 section 13).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, header};

use super::validators::Validators;
use crate::Request;

/// What a request's preconditions say to a 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is to be sent.
    Send,
    /// 304: the client has it.
    NotModified,
    /// 412: it is not what the client thinks.
    Failed,
}

/// Evaluates the preconditions of a `GET` or `HEAD` in the order of section 13.2.2; `If-Range` is apart ([`allows_range`]).
pub(super) fn evaluate(request: &Request, validators: &Validators) -> Verdict {
    // A map of all fields is made for those that have a condition only.
    let has = |name: http::HeaderName| request.header(name.as_str()).is_some();
    let is_conditional = has(header::IF_NONE_MATCH)
        || has(header::IF_MODIFIED_SINCE)
        || has(header::IF_MATCH)
        || has(header::IF_UNMODIFIED_SINCE);
    if is_conditional { evaluate_fields(request.headers(), validators) } else { Verdict::Send }
}

fn evaluate_fields(fields: &HeaderMap, Validators { etag, last_modified }: &Validators) -> Verdict {
    if fields.contains_key(header::IF_MATCH) {
        if !lists_tag(fields, header::IF_MATCH, |tag| tag.is_strongly(etag)) {
            return Verdict::Failed;
        }
    } else if let (Some(since), Some(modified)) = (date(fields, header::IF_UNMODIFIED_SINCE), *last_modified)
        && modified > since
    {
        return Verdict::Failed;
    }
    let is_known = if fields.contains_key(header::IF_NONE_MATCH) {
        lists_tag(fields, header::IF_NONE_MATCH, |tag| tag.is_weakly(etag))
    } else {
        let dates = date(fields, header::IF_MODIFIED_SINCE).zip(*last_modified);
        dates.is_some_and(|(since, modified)| modified <= since)
    };
    if is_known { Verdict::NotModified } else { Verdict::Send }
}

/// Whether `Range` counts: there is no `If-Range`, or it names just this representation by a strong validator (section 13.1.5).
pub(super) fn allows_range(request: &Request, Validators { etag, last_modified }: &Validators) -> bool {
    let Some(condition) = request.header("if-range") else { return true };
    match EntityTag::parse(condition.as_bytes()) {
        Some((tag, rest)) => rest.is_empty() && tag.is_strongly(etag),
        None => httpdate::parse_http_date(condition)
            .is_ok_and(|date| *last_modified == Some(date) && is_strong_date(date)),
    }
}

/// A date is a strong validator once a second change in the same second would be over (section 8.8.2.2).
fn is_strong_date(date: SystemTime) -> bool {
    SystemTime::now().duration_since(date).is_ok_and(|age| age >= Duration::from_secs(2))
}

fn date(fields: &HeaderMap, name: http::HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(fields.get(name)?.to_str().ok()?).ok()
}

fn lists_tag(fields: &HeaderMap, name: http::HeaderName, is_it: impl Fn(EntityTag<'_>) -> bool) -> bool {
    fields
        .get_all(name)
        .iter()
        .any(|value| value.as_bytes().trim_ascii() == b"*" || EntityTags(value.as_bytes()).any(&is_it))
}

/// An entity tag (section 8.8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EntityTag<'a> {
    is_weak: bool,
    opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads one at the start of a text, and returns what follows.
    fn parse(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (is_weak, quoted) = match text.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let inner = quoted.strip_prefix(b"\"")?;
        let end = inner.iter().position(|&byte| byte == b'"')?;
        Some((Self { is_weak, opaque: &inner[..end] }, &inner[end + 1..]))
    }

    fn is_weakly(self, etag: &HeaderValue) -> bool {
        EntityTag::parse(etag.as_bytes()).is_some_and(|(other, _)| other.opaque == self.opaque)
    }

    fn is_strongly(self, etag: &HeaderValue) -> bool {
        EntityTag::parse(etag.as_bytes()).is_some_and(|(other, _)| other == self && !self.is_weak)
    }
}

/// A list of entity tags; ends where it is malformed. A tag may hold commas.
struct EntityTags<'a>(&'a [u8]);

impl<'a> Iterator for EntityTags<'a> {
    type Item = EntityTag<'a>;

    fn next(&mut self) -> Option<EntityTag<'a>> {
        let start = self.0.iter().position(|byte| !b", \t".contains(byte))?;
        let (tag, rest) = EntityTag::parse(&self.0[start..])?;
        self.0 = rest;
        Some(tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AGO: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn validators() -> Validators {
        let last_modified = Some(httpdate::parse_http_date(LONG_AGO).unwrap());
        Validators { etag: HeaderValue::from_static("\"a,b\""), last_modified }
    }

    fn request(fields: &[(&str, &str)]) -> Request {
        let builder = Request::builder("GET", "/");
        fields.iter().fold(builder, |builder, (name, value)| builder.header(name, value)).build().unwrap()
    }

    #[test]
    fn conditions_are_taken_in_their_order() {
        use Verdict::{Failed, NotModified, Send};
        for (fields, verdict) in [
            (&[][..], Send),
            (&[("If-None-Match", "\"a,b\"")], NotModified),
            (&[("If-None-Match", "W/\"a,b\"")], NotModified),
            (&[("If-None-Match", "\"x\" , W/\"y\",\"a,b\"")], NotModified),
            (&[("If-None-Match", "\"x\""), ("If-None-Match", "\"a,b\"")], NotModified),
            (&[("If-None-Match", "*")], NotModified),
            (&[("If-None-Match", "\"a\"")], Send),
            (&[("If-None-Match", "a,b")], Send),
            (&[("If-None-Match", "\"x\""), ("If-Modified-Since", LONG_AGO)], Send),
            (&[("If-Modified-Since", LONG_AGO)], NotModified),
            (&[("If-Modified-Since", LATER)], NotModified),
            (&[("If-Modified-Since", EARLIER)], Send),
            (&[("If-Modified-Since", "yesterday")], Send),
            (&[("If-Match", "\"a,b\"")], Send),
            (&[("If-Match", "*")], Send),
            (&[("If-Match", "W/\"a,b\"")], Failed),
            (&[("If-Match", "\"x\", \"y\"")], Failed),
            (&[("If-Match", "\"x\""), ("If-None-Match", "\"a,b\"")], Failed),
            (&[("If-Match", "\"a,b\""), ("If-None-Match", "\"a,b\"")], NotModified),
            (&[("If-Match", "\"a,b\""), ("If-Unmodified-Since", EARLIER)], Send),
            (&[("If-Unmodified-Since", EARLIER)], Failed),
            (&[("If-Unmodified-Since", LONG_AGO)], Send),
            (&[("If-Unmodified-Since", "yesterday")], Send),
            (&[("If-Unmodified-Since", LONG_AGO), ("If-Modified-Since", LONG_AGO)], NotModified),
        ] {
            assert_eq!(evaluate(&request(fields), &validators()), verdict, "{fields:?}");
        }
    }

    #[test]
    fn a_range_counts_for_just_this_representation() {
        for (condition, allows) in [
            ("\"a,b\"", true),
            ("W/\"a,b\"", false),
            ("\"x\"", false),
            ("\"a,b\", \"x\"", false),
            (LONG_AGO, true),
            (LATER, false),
            (EARLIER, false),
            ("*", false),
        ] {
            assert_eq!(
                allows_range(&request(&[("If-Range", condition)]), &validators()),
                allows,
                "{condition}"
            );
        }
        assert!(allows_range(&request(&[]), &validators()));
        let weak = Validators { etag: HeaderValue::from_static("W/\"a\""), last_modified: None };
        assert!(!allows_range(&request(&[("If-Range", "W/\"a\"")]), &weak));
    }

    #[test]
    fn a_date_of_this_second_is_weak() {
        let now = httpdate::fmt_http_date(SystemTime::now());
        let last_modified = Some(httpdate::parse_http_date(&now).unwrap());
        let fresh = Validators { last_modified, ..validators() };
        assert!(!allows_range(&request(&[("If-Range", &now)]), &fresh));
    }
}
