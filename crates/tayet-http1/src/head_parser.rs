//! Reading a head, line by line.

use crate::field::FieldLine;
use crate::limits::{MAX_HEAD_BYTES_CEILING, MAX_HEADERS_CEILING};
use crate::line::{Lines, Stop};
use crate::{Head, HeadLimits, Refusal};

/// How far a head has been read.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct HeadParser {
    lines: Lines,
}

impl HeadParser {
    /// Goes on reading `bytes`, which begin with the method and hold all that was there before. Gives the
    /// head's length. If that stops since it needs more, `bytes` are fewer than `limits.max_head_bytes`.
    // Inlined always: where a head begins, much of this is known to be nothing.
    #[inline(always)]
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<usize, Stop> {
        let max_head_bytes = limits.max_head_bytes.min(MAX_HEAD_BYTES_CEILING);
        let mut start = self.lines.start();
        if start == 0 {
            let max_line_bytes =
                limits.max_request_line_bytes.saturating_add("\r\n".len()).min(max_head_bytes);
            let within = &bytes[..bytes.len().min(max_line_bytes)];
            start = self
                .parse_request_line(within, head)
                .map_err(|stop| stop.unless_full(within, max_line_bytes, Refusal::RequestLineTooLong))?;
        }
        let within = &bytes[..bytes.len().min(max_head_bytes)];
        self.parse_fields(within, start, head, limits.max_headers.min(MAX_HEADERS_CEILING))
            .map_err(|stop| stop.unless_full(within, max_head_bytes, Refusal::HeadTooLarge))
    }

    #[inline(always)]
    fn parse_request_line(&mut self, bytes: &[u8], head: &mut Head) -> Result<usize, Stop> {
        if !self.lines.is_worth_a_try(bytes) {
            return Err(Stop::Incomplete);
        }
        head.request_line_mut().parse(bytes).inspect_err(|_| self.lines.wait_for_more(0, bytes))
    }

    #[inline(always)]
    fn parse_fields(
        &mut self,
        bytes: &[u8],
        mut start: usize,
        head: &mut Head,
        max_headers: usize,
    ) -> Result<usize, Stop> {
        if start == self.lines.start() && !self.lines.is_worth_a_try(bytes) {
            return Err(Stop::Incomplete);
        }
        if head.field_count() == 0
            && max_headers > 0
            && let Some(end) = head.take_leading_host(bytes, start)
        {
            start = end;
        }
        loop {
            match FieldLine::parse(bytes, start) {
                Ok(FieldLine::Field { .. }) if head.field_count() >= max_headers => {
                    return Err(Refusal::TooManyHeaders.into());
                }
                Ok(FieldLine::Field { name, value, field, end }) => {
                    head.add_field(name, value, field)?;
                    start = end;
                }
                Ok(FieldLine::Empty { end }) => {
                    head.check()?;
                    return Ok(end);
                }
                Err(stop) => {
                    self.lines.wait_for_more(start, bytes);
                    return Err(stop);
                }
            }
        }
    }
}

impl Stop {
    /// What it becomes for want of room for more than `bytes`, if it needs more.
    #[cold]
    fn unless_full(self, bytes: &[u8], max_bytes: usize, refusal: Refusal) -> Self {
        if self == Self::Incomplete && bytes.len() >= max_bytes { refusal.into() } else { self }
    }
}
