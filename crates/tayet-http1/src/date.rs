//! The value of a Date field.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DATE_BYTES: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// What stands before the date in the commonest head.
const PREFIX: &[u8; 23] = b"HTTP/1.1 200 OK\r\ndate: ";

/// What stands behind it there.
const SUFFIX: &[u8; 16] = b"\r\ncontent-type: ";

const STATUS_LINE_BYTES: usize = "HTTP/1.1 200 OK".len();

/// The last second of the year 9999, the last that the format can express.
const LAST_SECOND: u64 = 253_402_300_799;

/// A moment as an IMF-fixdate (RFC 9110 section 5.6.7), for instance `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Made once a second and copied into every response.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// let date = tayet_http1::Date::from(UNIX_EPOCH + Duration::from_secs(784_111_777));
/// assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
/// ```
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct Date {
    /// The commonest head's first two lines and the third one's name, which are copied at once.
    ok_start: [u8; LINES_BYTES + SUFFIX.len()],
}

/// The status line and the field line.
const LINES_BYTES: usize = PREFIX.len() + DATE_BYTES;

impl Date {
    /// The 29 bytes.
    pub fn as_bytes(&self) -> &[u8; DATE_BYTES] {
        self.lines().last_chunk().expect("a line is longer than a date")
    }

    /// The status line of a 200 and the field line, without the line end behind it.
    #[inline]
    pub(crate) fn lines(&self) -> &[u8] {
        &self.ok_start[..LINES_BYTES]
    }

    /// The same, and Content-Type up to its value.
    #[inline]
    pub(crate) fn lines_before_type(&self) -> &[u8] {
        &self.ok_start
    }

    /// The field line, with the line end before it.
    #[inline]
    pub(crate) fn line(&self) -> &[u8] {
        &self.ok_start[STATUS_LINE_BYTES..LINES_BYTES]
    }
}

impl From<SystemTime> for Date {
    /// Moments before 1970 and after 9999 become the nearest that the format can express.
    fn from(moment: SystemTime) -> Self {
        let since_epoch = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = Duration::from_secs(since_epoch.as_secs().min(LAST_SECOND));
        let mut ok_start = [b' '; LINES_BYTES + SUFFIX.len()];
        let (lines, suffix) = ok_start.split_at_mut(LINES_BYTES);
        suffix.copy_from_slice(SUFFIX);
        let (prefix, mut date) = lines.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX);
        write!(date, "{}", httpdate::HttpDate::from(UNIX_EPOCH + seconds)).expect("it is 29 bytes long");
        Self { ok_start }
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Date({})", self.as_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_outside_the_format_become_the_nearest_inside() {
        let text = |moment| String::from_utf8(Date::from(moment).as_bytes().to_vec()).unwrap();
        assert_eq!(text(UNIX_EPOCH - Duration::from_secs(1)), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(text(UNIX_EPOCH + Duration::from_secs(LAST_SECOND)), "Fri, 31 Dec 9999 23:59:59 GMT");
        assert_eq!(text(UNIX_EPOCH + Duration::from_secs(LAST_SECOND + 1)), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn debug_output_is_the_date() {
        assert_eq!(format!("{:?}", Date::from(UNIX_EPOCH)), "Date(Thu, 01 Jan 1970 00:00:00 GMT)");
    }
}
