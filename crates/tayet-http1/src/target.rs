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
    /// Becomes the target in `bytes[range]`, which isn't empty, is visible ASCII, has no fragment, and has
    /// its first `?`, if any, at `path_end`.
    #[inline]
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        range: Range<usize>,
        path_end: usize,
        method: &Method,
    ) -> Result<(), Refusal> {
        self.whole = Span::new(range.clone());
        self.path = Span::new(range.start..path_end);
        self.query = (path_end < range.end).then(|| Span::new(path_end + 1..range.end));
        self.authority = None;
        if bytes[range.start] == b'/' && method != Method::CONNECT {
            return Ok(());
        }
        self.parse_other_form(bytes, range.start..path_end, method)
    }

    #[cold]
    fn parse_other_form(
        &mut self,
        bytes: &[u8],
        before_query: Range<usize>,
        method: &Method,
    ) -> Result<(), Refusal> {
        match self.whole.of(bytes) {
            target if method == Method::CONNECT => {
                if authority::check(target) != Some(Port::Given) {
                    return Err(Refusal::MalformedConnectTarget);
                }
                self.path = Span::default();
                self.authority = Some(self.whole);
                Ok(())
            }
            b"*" if method == Method::OPTIONS => Ok(()),
            b"*" => Err(Refusal::AsteriskWithoutOptions),
            _ => self.parse_absolute_form(bytes, before_query),
        }
    }

    fn parse_absolute_form(&mut self, bytes: &[u8], before_query: Range<usize>) -> Result<(), Refusal> {
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
        self.authority = Some(Span::new(authority_start..path_start));
        self.path = Span::new(path_start..before_query.end);
        Ok(())
    }
}
