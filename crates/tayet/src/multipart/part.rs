//! One part of a form.

use std::fs::Permissions;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;

use super::{Multipart, MultipartError, PartHead};

/// What files are created with that are saved, before the process's umask.
const FILE_MODE: u32 = 0o666;

/// One part of a form: a field or a file. Its content is read as [`Read`] or [`BufRead`], while it arrives, or by one of the
/// methods here.
#[derive(Debug)]
pub struct Part<'f> {
    head: Box<PartHead>,
    form: &'f mut Multipart,
}

impl<'f> Part<'f> {
    pub(super) fn new(head: Box<PartHead>, form: &'f mut Multipart) -> Self {
        Self { head, form }
    }

    /// What it says of itself.
    pub fn head(&self) -> &PartHead {
        &self.head
    }

    /// As [`PartHead::name`].
    pub fn name(&self) -> &str {
        self.head.name()
    }

    /// As [`PartHead::file_name`].
    pub fn file_name(&self) -> Option<&str> {
        self.head.file_name()
    }

    /// As [`PartHead::safe_file_name`].
    pub fn safe_file_name(&self) -> Option<&str> {
        self.head.safe_file_name()
    }

    /// As [`PartHead::is_file`].
    pub fn is_file(&self) -> bool {
        self.head.is_file()
    }

    /// As [`PartHead::content_type`].
    pub fn content_type(&self) -> Option<&str> {
        self.head.content_type()
    }

    /// What is left of its content, in memory: at most
    /// [`max_field_bytes`](super::MultipartLimits::max_field_bytes), also of a file.
    ///
    /// # Errors
    ///
    /// As [`MultipartError`] has them.
    pub fn content(&mut self) -> Result<Bytes, MultipartError> {
        self.read_whole(self.form.limits().max_field_bytes)
    }

    /// What is left of its content, in memory, up to another limit.
    ///
    /// # Errors
    ///
    /// [`MultipartError::FieldTooLarge`] past the limit, and others as [`MultipartError`] has them.
    pub fn read_whole(&mut self, limit_bytes: usize) -> Result<Bytes, MultipartError> {
        let mut bytes = Vec::new();
        loop {
            let content = self.form.fill_content()?;
            if content.is_empty() {
                return Ok(bytes.into());
            }
            if content.len() > limit_bytes - bytes.len() {
                return Err(MultipartError::FieldTooLarge { limit_bytes });
            }
            bytes.extend_from_slice(content);
            self.form.consume_content(usize::MAX);
        }
    }

    /// As [`content`](Self::content), as text.
    ///
    /// # Errors
    ///
    /// [`MultipartError::NotUtf8`], and others as [`MultipartError`] has them.
    pub fn text(&mut self) -> Result<String, MultipartError> {
        String::from_utf8(self.content()?.into()).map_err(|_| MultipartError::NotUtf8)
    }

    /// Writes what is left of its content to `out`, while it arrives. Gives the number of bytes.
    ///
    /// # Errors
    ///
    /// Those of `out`, and those of the form made into an [`io::Error`].
    pub fn copy_to(&mut self, out: &mut impl Write) -> io::Result<u64> {
        let mut copied = 0;
        loop {
            let content = self.form.fill_content()?;
            if content.is_empty() {
                return Ok(copied);
            }
            out.write_all(content)?;
            copied += content.len() as u64;
            self.form.consume_content(usize::MAX);
        }
    }

    /// Saves what is left of its content as a file, in place of one of that path. Gives the number of bytes.
    ///
    /// It is written under another name in the same directory, and has its own once it is whole; if anything goes wrong,
    /// nothing is left of it.
    ///
    /// # Errors
    ///
    /// Those of the file system, and those of the form made into an [`io::Error`]. With `?` in a handler the client learns
    /// what is wrong with its form, and gets a 507 where the disk is full.
    pub fn save_to(&mut self, path: impl AsRef<Path>) -> io::Result<u64> {
        let path = path.as_ref();
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut file = tempfile::Builder::new()
            .prefix(".upload-")
            .permissions(Permissions::from_mode(FILE_MODE))
            .tempfile_in(directory.unwrap_or(Path::new(".")))?;
        let length = self.copy_to(file.as_file_mut())?;
        file.persist(path)?;
        Ok(length)
    }
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Part<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.form.fill_content()?)
    }

    fn consume(&mut self, count: usize) {
        self.form.consume_content(count);
    }
}
