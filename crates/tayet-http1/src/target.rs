//! The request target in its four forms (RFC 9112 section 3.2).

use std::ops::Range;

use http::Method;

use crate::Refusal;
use crate::authority::{self, Port};
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
    /// Reads the target in `bytes[range]`, which isn't empty, is visible ASCII, has no fragment, and has its first `?`,
    /// if any, at `path_end`.
    #[inline]
    pub(crate) fn parse(
        bytes: &[u8],
        range: Range<usize>,
        path_end: usize,
        method: &Method,
    ) -> Result<Self, Refusal> {
        let query = (path_end < range.end).then(|| Span::new(path_end + 1..range.end));
        let origin_form = Self {
            whole: Span::new(range.clone()),
            path: Span::new(range.start..path_end),
            query,
            authority: None,
        };
        if bytes[range.start] == b'/' && method != Method::CONNECT {
            return Ok(origin_form);
        }
        origin_form.into_other_form(bytes, range.start..path_end, method)
    }

    #[cold]
    fn into_other_form(
        self,
        bytes: &[u8],
        before_query: Range<usize>,
        method: &Method,
    ) -> Result<Self, Refusal> {
        match self.whole.of(bytes) {
            target if method == Method::CONNECT => match authority::check(target) {
                Some(Port::Given) => Ok(Self { path: Span::default(), authority: Some(self.whole), ..self }),
                _ => Err(Refusal::MalformedConnectTarget),
            },
            b"*" if method == Method::OPTIONS => Ok(self),
            b"*" => Err(Refusal::AsteriskWithoutOptions),
            _ => self.into_absolute_form(bytes, before_query),
        }
    }

    fn into_absolute_form(self, bytes: &[u8], before_query: Range<usize>) -> Result<Self, Refusal> {
        let text = &bytes[before_query.clone()];
        let scheme = ["http://", "https://"].into_iter().find(|scheme| {
            text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
        });
        let authority_start = before_query.start + scheme.ok_or(Refusal::MalformedTarget)?.len();
        let length = bytes[authority_start..before_query.end].iter().position(|&byte| byte == b'/');
        let path_start = length.map_or(before_query.end, |length| authority_start + length);
        if authority::check(&bytes[authority_start..path_start]).is_none() {
            return Err(Refusal::MalformedTarget);
        }
        let (authority, path) =
            (Span::new(authority_start..path_start), Span::new(path_start..before_query.end));
        Ok(Self { path, authority: Some(authority), ..self })
    }
}
