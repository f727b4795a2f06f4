//! A log file that can be rotated.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Appends to a file, and opens it anew when it is told to: another may have taken its place.
#[derive(Debug)]
pub(crate) struct ReopeningFile {
    path: PathBuf,
    file: File,
    wish: Reopen,
}

/// The wish that a log file be opened anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reopen(Arc<AtomicBool>);

impl Reopen {
    /// Has the file opened anew before the next line.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl ReopeningFile {
    /// # Errors
    ///
    /// When the file cannot be opened; the message names it.
    pub(crate) fn open(path: &Path, wish: Reopen) -> io::Result<Self> {
        let file = append_to(path).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot open the access log {}: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), file, wish })
    }
}

impl Write for ReopeningFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.wish.0.swap(false, Ordering::AcqRel) {
            match append_to(&self.path) {
                Ok(file) => self.file = file,
                Err(error) => {
                    tracing::error!(%error, path = %self.path.display(), "cannot reopen the access log")
                }
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
