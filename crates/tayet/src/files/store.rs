//! What is known of files, and the bytes of small ones, for as long as they stay as they are.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rustix::io::Errno;
use tayet_engine::media_type;

use super::cache_rules::CacheRules;
use super::representation::{Content, Representation};
use super::root::Root;
use super::validators::{FileState, Validators};
use crate::{AcceptEncoding, ContentCoding, Request};

/// Files up to this size are held in memory, unless [`Files::max_cached_file_bytes`](super::Files::max_cached_file_bytes) says
/// otherwise: 64 KiB.
pub const DEFAULT_MAX_CACHED_FILE_BYTES: usize = 64 * 1024;
/// What is held takes no more than this, unless [`Files::max_cache_bytes`](super::Files::max_cache_bytes) says otherwise: 32 MiB.
pub const DEFAULT_MAX_CACHE_BYTES: usize = 32 * 1024 * 1024;
/// How long what is held is taken for true, unless [`Files::revalidate_after`](super::Files::revalidate_after) says otherwise:
/// 250 ms.
pub const DEFAULT_REVALIDATE_MS: u64 = 250;

/// What stands behind the names of encoded files, the densest first.
const SUFFIXES: [(ContentCoding, &str); 3] =
    [(ContentCoding::Brotli, ".br"), (ContentCoding::Zstd, ".zst"), (ContentCoding::Gzip, ".gz")];

/// What an entry costs beside its bytes, about.
const ENTRY_BYTES: u64 = 1_024;
/// How many entries the cache reckons with; it grows past that.
const EXPECTED_ENTRIES: usize = 1_024;

/// Finds files and remembers them.
#[derive(Debug)]
pub(super) struct Store {
    cache: Cache<Box<[u8]>, Arc<Entry>, ByBytes>,
    limits: StoreLimits,
    started: Instant,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StoreLimits {
    pub(super) max_file_bytes: usize,
    pub(super) max_bytes: usize,
    pub(super) revalidate_after: Duration,
}

/// How files are found and described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) root: &'a Root,
    pub(super) cache_rules: &'a CacheRules,
    pub(super) is_precompressed: bool,
}

/// A file with its encoded siblings.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) plain: Form,
    /// The densest first.
    pub(super) siblings: Vec<Form>,
    checked_at_ms: AtomicU64,
}

/// One form of a file.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) coding: Option<ContentCoding>,
    pub(super) representation: Representation,
    state: FileState,
    path: Box<[u8]>,
    held: Option<Bytes>,
}

/// Why there is no file.
#[derive(Debug)]
pub(super) enum Missing {
    NotFound,
    /// It is a directory.
    Directory,
    Forbidden,
    Failed(io::Error),
}

/// Why a form's bytes are not there: it is not what it was.
#[derive(Debug)]
pub(super) struct Changed;

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: DEFAULT_MAX_CACHED_FILE_BYTES,
            max_bytes: DEFAULT_MAX_CACHE_BYTES,
            revalidate_after: Duration::from_millis(DEFAULT_REVALIDATE_MS),
        }
    }
}

impl Store {
    pub(super) fn new(limits: StoreLimits) -> Self {
        let cache = Cache::with_weighter(EXPECTED_ENTRIES, limits.max_bytes as u64, ByBytes);
        Self { cache, limits, started: Instant::now() }
    }

    pub(super) fn limits(&self) -> StoreLimits {
        self.limits
    }

    /// The file at a path below the root.
    pub(super) fn find(&self, source: Source<'_>, path: &[u8]) -> Result<Arc<Entry>, Missing> {
        let known = self.cache.get(path);
        if let Some(entry) = &known
            && !self.must_check(entry)
        {
            return Ok(Arc::clone(entry));
        }
        let opened = Opened::open(source, path).inspect_err(|_| drop(self.cache.remove(path)))?;
        match known {
            Some(entry) if entry.is_as(&opened) => Ok(entry),
            _ => self.take_in(source, path, opened),
        }
    }

    /// Forgets a file that has changed.
    pub(super) fn forget(&self, path: &[u8]) {
        self.cache.remove(path);
    }

    /// Whether it is this caller's turn to look whether the file is as it was; others go on with what is known meanwhile.
    fn must_check(&self, entry: &Entry) -> bool {
        let now_ms = self.now_ms();
        let checked_at_ms = entry.checked_at_ms.load(Ordering::Relaxed);
        let is_due = now_ms >= checked_at_ms + self.limits.revalidate_after.as_millis() as u64;
        is_due
            && entry
                .checked_at_ms
                .compare_exchange(checked_at_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn take_in(&self, source: Source<'_>, path: &[u8], opened: Opened) -> Result<Arc<Entry>, Missing> {
        let varies = !opened.siblings.is_empty();
        let describe = |form| self.describe(source, path, form, varies).map_err(Missing::Failed);
        let plain = describe(opened.plain)?;
        let siblings = opened.siblings.into_iter().map(describe).collect::<Result<_, _>>()?;
        let entry = Arc::new(Entry { plain, siblings, checked_at_ms: AtomicU64::new(self.now_ms()) });
        if entry.forms().all(|form| form.state.is_settled()) {
            self.cache.insert(path.into(), Arc::clone(&entry));
        }
        Ok(entry)
    }

    fn describe(&self, source: Source<'_>, path: &[u8], opened: OpenForm, varies: bool) -> io::Result<Form> {
        let OpenForm { coding, state, path: own_path, file } = opened;
        let mut fields = HeaderMap::new();
        fields.insert(header::CONTENT_TYPE, media_type(Path::new(OsStr::from_bytes(path))));
        if let Some(coding) = coding {
            fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        if varies {
            fields.insert(header::VARY, const { HeaderValue::from_static("accept-encoding") });
        }
        fields.extend(source.cache_rules.value_for(path).map(|value| (header::CACHE_CONTROL, value.clone())));
        let validators = Validators::new(&state, coding.map(ContentCoding::name));
        let representation = Representation::new(validators, state.size_bytes, fields);
        let held = self.read_if_small(&file, &state)?;
        Ok(Form { coding, representation, state, path: own_path, held })
    }

    /// The bytes of a small file, if they are surely those of this state.
    fn read_if_small(&self, file: &File, state: &FileState) -> io::Result<Option<Bytes>> {
        if state.size_bytes > self.limits.max_file_bytes as u64 || !state.is_settled() {
            return Ok(None);
        }
        let mut bytes = vec![0; state.size_bytes as usize];
        match file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let is_same = FileState::of(&file.metadata()?) == *state;
        Ok(is_same.then(|| bytes.into()))
    }
}

impl Entry {
    /// The form that the client wants most; of equal ones the denser.
    pub(super) fn choose(&self, request: &Request) -> &Form {
        if self.siblings.is_empty() || request.header("accept-encoding").is_none() {
            return &self.plain;
        }
        let offered: Vec<_> = self.siblings.iter().filter_map(|form| form.coding).collect();
        let preferred = AcceptEncoding::of(request).preferred(&offered);
        let sibling = self.siblings.iter().find(|form| form.coding == preferred);
        sibling.unwrap_or(&self.plain)
    }

    fn forms(&self) -> impl Iterator<Item = &Form> {
        std::iter::once(&self.plain).chain(&self.siblings)
    }

    fn is_as(&self, opened: &Opened) -> bool {
        let states = std::iter::once(&opened.plain).chain(&opened.siblings);
        self.forms().map(|form| (form.coding, form.state)).eq(states.map(|form| (form.coding, form.state)))
    }
}

impl Form {
    /// The bytes, or the file that is to be sent.
    pub(super) fn content(&self, root: &Root) -> Result<Content, Changed> {
        if let Some(bytes) = &self.held {
            return Ok(Content::Held(bytes.clone()));
        }
        match OpenForm::open(root, &self.path, self.coding) {
            Ok(opened) if opened.state == self.state => Ok(Content::Open(Arc::new(opened.file))),
            _ => Err(Changed),
        }
    }
}

/// A file and its encoded siblings, open.
struct Opened {
    plain: OpenForm,
    siblings: Vec<OpenForm>,
}

impl Opened {
    fn open(source: Source<'_>, path: &[u8]) -> Result<Self, Missing> {
        let plain = OpenForm::open(source.root, path, None)?;
        let suffixes = if source.is_precompressed { &SUFFIXES[..] } else { &[] };
        let siblings = suffixes.iter().filter_map(|&(coding, suffix)| {
            let path = [path, suffix.as_bytes()].concat();
            OpenForm::open(source.root, &path, Some(coding)).ok()
        });
        Ok(Self { plain, siblings: siblings.collect() })
    }
}

/// A regular file that is open.
struct OpenForm {
    coding: Option<ContentCoding>,
    state: FileState,
    path: Box<[u8]>,
    file: File,
}

impl OpenForm {
    fn open(root: &Root, path: &[u8], coding: Option<ContentCoding>) -> Result<Self, Missing> {
        let file = root.open(path).map_err(Missing::of)?;
        let metadata = file.metadata().map_err(Missing::Failed)?;
        if metadata.is_dir() {
            return Err(Missing::Directory);
        }
        if !metadata.is_file() {
            return Err(Missing::NotFound);
        }
        Ok(Self { coding, state: FileState::of(&metadata), path: path.into(), file })
    }
}

impl Missing {
    /// What an error of opening says of the path.
    pub(super) fn of(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            // No such file, not below the root, or nothing that can be opened, such as a socket.
            Some(
                Errno::NOENT
                | Errno::NOTDIR
                | Errno::LOOP
                | Errno::XDEV
                | Errno::NAMETOOLONG
                | Errno::INVAL
                | Errno::NXIO
                | Errno::NODEV,
            ) => Self::NotFound,
            Some(Errno::ACCESS) => Self::Forbidden,
            _ => Self::Failed(error),
        }
    }
}

/// Weighs entries by what they hold.
#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Box<[u8]>, Arc<Entry>> for ByBytes {
    fn weight(&self, path: &Box<[u8]>, entry: &Arc<Entry>) -> u64 {
        let forms =
            entry.forms().map(|form| ENTRY_BYTES + form.held.as_ref().map_or(0, |held| held.len() as u64));
        forms.sum::<u64>() + path.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::SystemTime;

    use super::*;

    fn write(directory: &Path, name: &str, length: usize) {
        let path = directory.join(name);
        fs::write(&path, vec![b'x'; length]).unwrap();
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
        File::options().write(true).open(path).unwrap().set_modified(an_hour_ago).unwrap();
    }

    fn find(store: &Store, root: &Root, name: &str) -> Arc<Entry> {
        let source = Source { root, cache_rules: &CacheRules::default(), is_precompressed: true };
        store.find(source, name.as_bytes()).unwrap()
    }

    #[test]
    fn files_up_to_the_limit_are_held() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        let store = Store::new(StoreLimits { max_file_bytes: 100, ..StoreLimits::default() });
        write(directory.path(), "at", 100);
        write(directory.path(), "past", 101);
        let content = |name| find(&store, &root, name).plain.content(&root).unwrap();
        assert!(matches!(content("at"), Content::Held(bytes) if bytes.len() == 100));
        assert!(matches!(content("past"), Content::Open(_)));
    }

    #[test]
    fn what_is_held_stays_within_its_limit() {
        const MAX_BYTES: usize = 100_000;
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        let store = Store::new(StoreLimits { max_bytes: MAX_BYTES, ..StoreLimits::default() });
        for n in 0..40 {
            let name = format!("{n}");
            write(directory.path(), &name, 10_000);
            assert_eq!(find(&store, &root, &name).plain.representation.size_bytes, 10_000);
            assert!(store.cache.weight() <= MAX_BYTES as u64, "{} bytes are held", store.cache.weight());
        }
        assert!(store.cache.weight() > 0);
    }

    #[test]
    fn a_file_that_is_another_when_it_is_sent_is_not_sent() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        let store = Store::new(StoreLimits { max_file_bytes: 0, ..StoreLimits::default() });
        write(directory.path(), "a", 5);
        let entry = find(&store, &root, "a");
        assert!(entry.plain.content(&root).is_ok());
        write(directory.path(), "a", 6);
        assert!(entry.plain.content(&root).is_err());
    }

    #[test]
    fn errors_say_what_they_say_of_the_path() {
        let missing = |error: Errno| Missing::of(error.into());
        for error in [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV, Errno::NAMETOOLONG] {
            assert!(matches!(missing(error), Missing::NotFound), "{error}");
        }
        assert!(matches!(missing(Errno::ACCESS), Missing::Forbidden));
        assert!(matches!(missing(Errno::MFILE), Missing::Failed(_)));
    }
}
