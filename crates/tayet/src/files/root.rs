//! A directory that no path leaves.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// Nothing behind one is served.
    Refuse,
    /// They are followed as long as they stay below the directory; absolute ones never do. Kernels without `openat2` (before
    /// Linux 5.6, or where a sandbox forbids it) cannot tell, and there it is as [`Symlinks::Refuse`].
    #[default]
    Within,
    /// They are followed wherever they lead: for directories in which nobody can make one who may not read everything.
    Follow,
}

/// A directory, opened when it is first needed. Everything is opened relative to its descriptor.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    descriptor: OnceLock<OwnedFd>,
    pub(super) symlinks: Symlinks,
    lacks_openat2: AtomicBool,
}

/// `O_NONBLOCK` is for what is no file: opening a pipe would wait for its other end.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// How often opening is tried while something on the way is moved about.
const MAX_OPEN_ATTEMPTS: usize = 16;

impl Root {
    /// Opens nothing yet. A relative path is meant from where the process is now.
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            descriptor: OnceLock::new(),
            symlinks: Symlinks::default(),
            lacks_openat2: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself. That it cannot be opened is no error of a path below it, so the error has no number of the system's.
    pub(super) fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, &self.path, flags, Mode::empty()).map_err(|error| {
            let detail = format!("{} cannot be opened: {error}", self.path.display());
            io::Error::other(detail)
        })?;
        Ok(self.descriptor.get_or_init(|| opened).as_fd())
    }

    /// Opens what lies at a path below it: a file, a directory, or what else there is. Never waits for a pipe's other end.
    pub(super) fn open(&self, relative: &[u8]) -> io::Result<File> {
        let root = self.descriptor()?;
        let relative = if relative.is_empty() { b".".as_slice() } else { relative };
        let path = Path::new(OsStr::from_bytes(relative));
        let opened = match self.symlinks {
            Symlinks::Follow => openat(root, path, FLAGS, Mode::empty()),
            _ if self.lacks_openat2.load(Ordering::Relaxed) => open_stepwise(root, path),
            Symlinks::Within => self.open_beneath(root, path, ResolveFlags::BENEATH),
            Symlinks::Refuse => {
                self.open_beneath(root, path, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
            }
        };
        Ok(opened?.into())
    }

    fn open_beneath(
        &self,
        root: BorrowedFd<'_>,
        path: &Path,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, Errno> {
        for _ in 0..MAX_OPEN_ATTEMPTS {
            match openat2(root, path, FLAGS, Mode::empty(), resolve | ResolveFlags::NO_MAGICLINKS) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS) => {
                    self.lacks_openat2.store(true, Ordering::Relaxed);
                    return open_stepwise(root, path);
                }
                // What sandboxes say to calls that they do not know.
                Err(Errno::PERM) => return open_stepwise(root, path),
                result => return result,
            }
        }
        Err(Errno::AGAIN)
    }
}

/// Opens one component after the other, none of which may be a symbolic link; the path has no `..`.
fn open_stepwise(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let (directories, name) = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => (parent, Path::new(name)),
        _ => (Path::new(""), path),
    };
    let mut current: Option<OwnedFd> = None;
    for component in directories.components() {
        let from = current.as_ref().map_or(root, AsFd::as_fd);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        current = Some(openat(from, component.as_os_str(), flags, Mode::empty())?);
    }
    openat(current.as_ref().map_or(root, AsFd::as_fd), name, FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A root with a file, links of each kind, and a secret beside it.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(root.join("docs/a.txt"), "a").unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink("docs/a.txt", root.join("inner")).unwrap();
        symlink("docs", root.join("inner_directory")).unwrap();
        symlink("../secret", root.join("outer")).unwrap();
        symlink("..", root.join("outer_directory")).unwrap();
        symlink(outside.path().join("root/docs/a.txt"), root.join("absolute")).unwrap();
        (outside, root)
    }

    fn read(root: &Root, path: &str) -> Option<String> {
        let mut text = String::new();
        root.open(path.as_bytes()).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn roots(path: &Path, symlinks: Symlinks) -> [Root; 2] {
        [false, true].map(|lacks_openat2| Root {
            symlinks,
            lacks_openat2: AtomicBool::new(lacks_openat2),
            ..Root::new(path)
        })
    }

    #[test]
    fn links_are_followed_by_policy() {
        let (_outside, path) = tree();
        for symlinks in [Symlinks::Refuse, Symlinks::Within, Symlinks::Follow] {
            for root in roots(&path, symlinks) {
                let lacks_openat2 = root.lacks_openat2.load(Ordering::Relaxed);
                let follows = |wanted: bool, text: &str| wanted.then(|| text.to_owned());
                let inner = symlinks == Symlinks::Follow || (symlinks == Symlinks::Within && !lacks_openat2);
                let outer = symlinks == Symlinks::Follow;
                assert_eq!(read(&root, "docs/a.txt").as_deref(), Some("a"));
                for (name, expected) in [
                    ("inner", follows(inner, "a")),
                    ("inner_directory/a.txt", follows(inner, "a")),
                    ("outer", follows(outer, "secret")),
                    ("outer_directory/secret", follows(outer, "secret")),
                    ("absolute", follows(outer, "a")),
                    ("missing", None),
                    ("docs/a.txt/b", None),
                ] {
                    assert_eq!(
                        read(&root, name),
                        expected,
                        "{name}, {symlinks:?}, without openat2: {lacks_openat2}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_kernel_keeps_even_bad_paths_within() {
        let (_outside, path) = tree();
        let root = Root::new(&path);
        for bad in ["../secret", "docs/../../secret", "/etc/passwd"] {
            assert_eq!(read(&root, bad), None, "{bad}");
        }
    }

    #[test]
    fn the_root_itself_is_a_directory() {
        let (_outside, path) = tree();
        for root in roots(&path, Symlinks::Within) {
            assert!(root.open(b"").unwrap().metadata().unwrap().is_dir());
            assert!(root.open(b"docs").unwrap().metadata().unwrap().is_dir());
        }
        assert!(Root::new(&path.join("nowhere")).open(b"").is_err());
    }
}
