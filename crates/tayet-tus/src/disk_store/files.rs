//! The file operations of the disk store, each of which may fail.
//!
//! All of them go through here, so that tests can have each one fail, and the program end at each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

#[cfg(test)]
use super::faults::Faults;

/// The file system.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    #[cfg(test)]
    pub(super) faults: Faults,
}

/// A file of bytes that come.
#[derive(Debug)]
pub(super) struct DataFile {
    file: File,
    files: Files,
}

/// Whether a write is made to outlast a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    Cached,
    Synced,
}

impl Files {
    pub(super) fn create_data(&self, path: &Path) -> io::Result<DataFile> {
        self.step()?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(DataFile { file, files: self.clone() })
    }

    pub(super) fn open_data(&self, path: &Path) -> io::Result<DataFile> {
        self.step()?;
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(DataFile { file, files: self.clone() })
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.step()?;
        fs::read(path)
    }

    /// Puts a file in the place of another, or of none, in one step.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let new = path.with_extension("new");
        let written = self.write_new(&new, bytes, durability).and_then(|()| {
            self.step()?;
            fs::rename(&new, path)
        });
        if written.is_err() {
            let _ = self.remove(&new);
        }
        written
    }

    fn write_new(&self, path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.step()?;
        let mut file = File::create(path)?;
        self.step()?;
        file.write_all(bytes)?;
        if durability == Durability::Synced {
            self.step()?;
            file.sync_all()?;
        }
        Ok(())
    }

    /// Moves a file to a name that is not taken, in one step; [`io::ErrorKind::AlreadyExists`] when it is.
    pub(super) fn move_to_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        self.step()?;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system has it. A link is as atomic; a crash before the second step leaves two names of one
            // file, which opening it takes care of.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(from, to)?;
                self.remove(from)
            }
            other => Ok(other?),
        }
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Makes the names in a directory outlast a loss of power.
    pub(super) fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        File::open(path)?.sync_all()
    }

    #[cfg(test)]
    fn step(&self) -> io::Result<()> {
        self.faults.step()
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests have it fail")]
    fn step(&self) -> io::Result<()> {
        Ok(())
    }
}

impl DataFile {
    /// Writes some of the bytes, and says how many.
    pub(super) fn write_some(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(test)]
        let bytes = self.files.faults.shorten(bytes);
        self.files.step()?;
        match self.file.write_at(bytes, offset)? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => Ok(count),
        }
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(super) fn modified(&self) -> io::Result<SystemTime> {
        self.file.metadata()?.modified()
    }

    pub(super) fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.files.step()?;
        self.file.set_len(length)
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.files.step()?;
        self.file.sync_all()
    }

    /// Adds all of another file behind the end; the kernel copies.
    pub(super) fn append_file(&mut self, other: &Path) -> io::Result<u64> {
        self.files.step()?;
        io::copy(&mut File::open(other)?, &mut self.file)
    }

    /// Reads the file from its beginning to its end.
    pub(super) fn read_through(&self, mut part: impl FnMut(&[u8])) -> io::Result<()> {
        const PART_BYTES: usize = 256 * 1024;
        let mut buffer = vec![0; PART_BYTES];
        let mut offset = 0;
        loop {
            let count = self.file.read_at(&mut buffer, offset)?;
            if count == 0 {
                return Ok(());
            }
            part(&buffer[..count]);
            offset += count as u64;
        }
    }
}

/// Whether both names are of one file.
pub(super) fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path| fs::metadata(path).map(|data| (data.dev(), data.ino())).ok();
    identity(a).is_some_and(|a| identity(b) == Some(a))
}
