//! Reading a head line by line, each byte once, however it is cut.

use std::ops::Range;

use crate::field::Field;
use crate::limits::{MAX_HEAD_BYTES_CEILING, MAX_HEADERS_CEILING};
use crate::request_line::RequestLine;
use crate::{Head, HeadLimits, Refusal, line};

/// How far a head has been read.
///
/// Lines are judged in order, each when its end is there, and a byte that no line may hold is judged when it is met: so
/// the first fault decides, wherever the input is cut.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct HeadParser {
    /// Where the line begins that isn't complete. 0: it is the request line.
    line_start: usize,
    /// Up to where there's no end of that line.
    scanned: usize,
}

impl HeadParser {
    /// Goes on reading `bytes`, which begin with the method and hold all that was there before. Gives the head's length
    /// when it is complete. If it isn't, `bytes` are fewer than `limits.max_head_bytes`.
    #[inline]
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        head: &mut Head,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, Refusal> {
        let max_head_bytes = limits.max_head_bytes.min(MAX_HEAD_BYTES_CEILING);
        if self.line_start == 0 {
            let max_bytes = limits.max_request_line_bytes.saturating_add("\r\n".len()).min(max_head_bytes);
            let Some(line) = self.next_line(bytes, max_bytes, Refusal::RequestLineTooLong)? else {
                return Ok(None);
            };
            head.set_request_line(RequestLine::parse(bytes, line.end)?);
        }
        let max_headers = limits.max_headers.min(MAX_HEADERS_CEILING);
        while let Some(line) = self.next_line(bytes, max_head_bytes, Refusal::HeadTooLarge)? {
            if line.is_empty() {
                head.check()?;
                return Ok(Some(self.line_start));
            }
            if head.field_count() >= max_headers {
                return Err(Refusal::TooManyHeaders);
            }
            head.add_field(bytes, Field::parse(bytes, line)?)?;
        }
        Ok(None)
    }

    /// The next line without its end. Bytes from `max_bytes` on don't count: a line that isn't complete before is `over`.
    #[inline]
    fn next_line(
        &mut self,
        bytes: &[u8],
        max_bytes: usize,
        over: Refusal,
    ) -> Result<Option<Range<usize>>, Refusal> {
        let within = &bytes[..bytes.len().min(max_bytes)];
        match line::find_end(within, self.scanned)? {
            Some(end) => {
                let line = self.line_start..end;
                self.line_start = end + "\r\n".len();
                self.scanned = self.line_start;
                Ok(Some(line))
            }
            None if within.len() == max_bytes => Err(over),
            None => {
                self.scanned = line::resume_at(within);
                Ok(None)
            }
        }
    }
}
