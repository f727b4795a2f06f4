//! The request target in its four forms (RFC 9112 section 3.2).

use std::ops::Range;

use http::Method;

use crate::Refusal;
use crate::authority::{self, Port};
use crate::byte::{is_path, is_query};
use crate::field::Span;

/// Where a target and its parts lie in the head.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Target {
    pub(crate) whole: Span,
    /// Empty in authority-form, and in absolute-form where the path is left out.
    pub(crate) path: Span,
    pub(crate) query: Option<Span>,
    /// Of absolute-form and authority-form.
    pub(crate) authority: Option<Span>,
}

impl Target {
    /// Reads the target in `bytes[range]`, which isn't empty.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], range: Range<usize>, method: &Method) -> Result<Self, Refusal> {
        if bytes[range.start] == b'/' && method != Method::CONNECT {
            return path_and_query(bytes, range.clone(), range.start, None);
        }
        Self::parse_rare_form(bytes, range, method)
    }

    #[cold]
    fn parse_rare_form(bytes: &[u8], range: Range<usize>, method: &Method) -> Result<Self, Refusal> {
        let whole = Span::new(range.clone());
        match &bytes[range.clone()] {
            target if target.iter().any(|byte| !byte.is_ascii_graphic()) => Err(Refusal::MalformedTarget),
            target if target.contains(&b'#') => Err(Refusal::FragmentInTarget),
            target if method == Method::CONNECT => match authority::check(target) {
                Some(Port::Number(_)) => Ok(Self { whole, authority: Some(whole), ..Self::default() }),
                _ => Err(Refusal::MalformedConnectTarget),
            },
            b"*" if method == Method::OPTIONS => Ok(Self { whole, path: whole, ..Self::default() }),
            b"*" => Err(Refusal::AsteriskWithoutOptions),
            _ => absolute_form(bytes, range),
        }
    }
}

fn absolute_form(bytes: &[u8], range: Range<usize>) -> Result<Target, Refusal> {
    let target = &bytes[range.clone()];
    let scheme_length =
        ["http://", "https://"].into_iter().map(str::len).zip(["http://", "https://"]).find_map(
            |(length, scheme)| {
                let start = target.get(..length)?;
                start.eq_ignore_ascii_case(scheme.as_bytes()).then_some(length)
            },
        );
    let start = range.start + scheme_length.ok_or(Refusal::MalformedTarget)?;
    let length = bytes[start..range.end].iter().position(|byte| matches!(byte, b'/' | b'?'));
    let end = length.map_or(range.end, |length| start + length);
    if authority::check(&bytes[start..end]).is_none() {
        return Err(Refusal::MalformedTarget);
    }
    path_and_query(bytes, range, end, Some(Span::new(start..end)))
}

/// The rest of a target, from its path on, which may be empty before a query or at the end.
#[inline]
fn path_and_query(
    bytes: &[u8],
    range: Range<usize>,
    path_start: usize,
    authority: Option<Span>,
) -> Result<Target, Refusal> {
    let mut at = path_start;
    while at < range.end && is_path(bytes[at]) {
        at += 1;
    }
    let path = Span::new(path_start..at);
    let mut query = None;
    if at < range.end && bytes[at] == b'?' {
        let query_start = at + 1;
        at = query_start;
        while at < range.end && is_query(bytes[at]) {
            at += 1;
        }
        query = Some(Span::new(query_start..at));
    }
    if at == range.end {
        return Ok(Target { whole: Span::new(range), path, query, authority });
    }
    Err(if bytes[at] == b'#' { Refusal::FragmentInTarget } else { Refusal::MalformedTarget })
}
