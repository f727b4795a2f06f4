//! Reading a head, line by line.

use crate::field::FieldLine;
use crate::limits::{MAX_HEAD_BYTES_CEILING, MAX_HEADERS_CEILING};
use crate::line::Lines;
use crate::{Head, HeadLimits, Refusal};

/// How far a head has been read.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct HeadParser {
    lines: Lines,
}

impl HeadParser {
    /// Goes on reading `bytes`, which begin with the method and hold all that was there before. Gives the
    /// head's length when it is complete. If it isn't, `bytes` are fewer than `limits.max_head_bytes`.
    #[inline]
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, Refusal> {
        let max_head_bytes = limits.max_head_bytes.min(MAX_HEAD_BYTES_CEILING);
        if self.lines.start() == 0 {
            let max_line_bytes =
                limits.max_request_line_bytes.saturating_add("\r\n".len()).min(max_head_bytes);
            let within = &bytes[..bytes.len().min(max_line_bytes)];
            if !self.parse_request_line(within, head)? {
                return incomplete(within.len() < max_line_bytes, Refusal::RequestLineTooLong);
            }
        }
        let within = &bytes[..bytes.len().min(max_head_bytes)];
        match self.parse_fields(within, head, limits.max_headers.min(MAX_HEADERS_CEILING))? {
            None => incomplete(within.len() < max_head_bytes, Refusal::HeadTooLarge),
            length => Ok(length),
        }
    }

    #[inline]
    fn parse_request_line(&mut self, bytes: &[u8], head: &mut Head) -> Result<bool, Refusal> {
        if !self.lines.is_worth_a_try(bytes) {
            return Ok(false);
        }
        let next = head.request_line_mut().parse(bytes)?;
        match next {
            Some(next) => self.lines.begin_line(next),
            None => self.lines.wait_for_more(bytes),
        }
        Ok(next.is_some())
    }

    #[inline]
    fn parse_fields(
        &mut self,
        bytes: &[u8],
        head: &mut Head,
        max_headers: usize,
    ) -> Result<Option<usize>, Refusal> {
        loop {
            match FieldLine::next(bytes, &mut self.lines)? {
                FieldLine::Field(_) if head.field_count() >= max_headers => {
                    return Err(Refusal::TooManyHeaders);
                }
                FieldLine::Field(field) => head.add_field(bytes, field)?,
                FieldLine::Empty { end } => {
                    head.check()?;
                    return Ok(Some(end));
                }
                FieldLine::Incomplete => return Ok(None),
            }
        }
    }
}

#[cold]
fn incomplete<T>(has_room: bool, refusal: Refusal) -> Result<Option<T>, Refusal> {
    if has_room { Ok(None) } else { Err(refusal) }
}
