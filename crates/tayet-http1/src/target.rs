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
    /// Of absolute-form and authority-form; empty in the others.
    pub(crate) authority: Span,
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
        let is_origin_form = bytes[range.start] == b'/' && method != Method::CONNECT;
        self.path = Span::new(range.start..path_end);
        self.whole = Span::new(range);
        self.authority = Span::default();
        if is_origin_form { Ok(()) } else { self.parse_other_form(bytes, method) }
    }

    /// What follows the path's `?`.
    #[inline]
    pub(crate) fn query(&self) -> Option<Span> {
        self.path.behind_separator(self.whole)
    }

    #[cold]
    fn parse_other_form(&mut self, bytes: &[u8], method: &Method) -> Result<(), Refusal> {
        match self.whole.of(bytes) {
            target if method == Method::CONNECT => {
                if authority::check(target) != Some(Port::Given) {
                    return Err(Refusal::MalformedConnectTarget);
                }
                self.authority = self.whole;
                self.path = self.whole.end();
                Ok(())
            }
            b"*" if method == Method::OPTIONS => Ok(()),
            b"*" => Err(Refusal::AsteriskWithoutOptions),
            _ => self.parse_absolute_form(bytes),
        }
    }

    fn parse_absolute_form(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let Range { start, end } = self.path.range();
        let scheme = ["http://", "https://"].into_iter().find(|scheme| {
            let text = &bytes[start..end];
            text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
        });
        let authority_start = start + scheme.ok_or(Refusal::MalformedTarget)?.len();
        let length = bytes[authority_start..end].iter().position(|&byte| byte == b'/');
        let path_start = length.map_or(end, |length| authority_start + length);
        if authority::check(&bytes[authority_start..path_start]).is_none() {
            return Err(Refusal::MalformedTarget);
        }
        self.authority = Span::new(authority_start..path_start);
        self.path = Span::new(path_start..end);
        Ok(())
    }
}
