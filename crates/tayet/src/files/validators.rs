//! What tells one state of a file from another.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;

/// A state of a file: where it lies, how long it is, and when its bytes were last changed.
///
/// Two states that differ in their bytes alone, made within one tick of the file system's clock, are not told apart; hence
/// [`FileState::is_settled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    device: u64,
    inode: u64,
    pub(super) size_bytes: u64,
    modified_s: i64,
    modified_ns: i64,
}

/// How long after a change a file may be changed again without its time of change telling. File systems' clocks tick every
/// 10 ms or more often.
const SETTLING_TIME: Duration = Duration::from_millis(20);

/// The last second that an HTTP date can name: the end of the year 9999.
const MAX_DATE_S: i64 = 253_402_300_799;

impl FileState {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified_s: metadata.mtime(),
            modified_ns: metadata.mtime_nsec(),
        }
    }

    /// Whether a further change would show.
    pub(super) fn is_settled(&self) -> bool {
        let Ok(seconds) = u64::try_from(self.modified_s) else { return true };
        let modified = UNIX_EPOCH + Duration::new(seconds, self.modified_ns as u32);
        SystemTime::now().duration_since(modified).is_ok_and(|age| age > SETTLING_TIME)
    }

    /// The whole second of the last change, unless no date can name it or it is yet to come (RFC 9110 section 8.8.2.1).
    fn last_modified(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(self.modified_s).ok().filter(|_| self.modified_s <= MAX_DATE_S)?;
        let modified = UNIX_EPOCH + Duration::from_secs(seconds);
        (modified <= SystemTime::now()).then_some(modified)
    }
}

/// The validators of a representation (RFC 9110 section 8.8).
#[derive(Clone, Debug)]
pub(super) struct Validators {
    /// A strong one unless it begins with `W/`.
    pub(super) etag: HeaderValue,
    /// In whole seconds.
    pub(super) last_modified: Option<SystemTime>,
}

impl Validators {
    /// The entity tag is strong: any change of the file's bytes that its time of change shows makes another one. `coding` tells the
    /// encoded forms of one file apart.
    pub(super) fn new(state: &FileState, coding: Option<&str>) -> Self {
        let FileState { device, inode, size_bytes, modified_s, modified_ns } = state;
        let (dash, coding) = coding.map_or(("", ""), |coding| ("-", coding));
        let place = inode ^ device.rotate_left(32);
        let tag = format!("\"{place:x}-{size_bytes:x}-{modified_s:x}.{modified_ns:x}{dash}{coding}\"");
        let etag = HeaderValue::try_from(tag).expect("hexadecimal digits and a token");
        Self { etag, last_modified: state.last_modified() }
    }
}
