//! Bytes that are not a part yet, on the local disk.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::client::Payload;
use crate::failure::Failure;

/// How much is in memory on its way to the disk.
const COPY_BUFFER_BYTES: usize = 64 * 1024;

/// Bytes that are not a part yet, in a file without a name: whatever happens to the program, none is left behind.
#[derive(Debug)]
pub(crate) struct Gathered {
    file: File,
    bytes: u64,
}

impl Gathered {
    pub(crate) fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(directory)?, bytes: 0 })
    }

    /// How many there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// To send them.
    pub(crate) fn payload(&self) -> Payload<'_> {
        Payload::File { file: &self.file, bytes: self.bytes }
    }

    /// Adds some.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Takes what `from` has, up to its end, in place of what is here.
    pub(crate) fn fill(&mut self, from: &mut impl Read) -> Result<(), Failure> {
        self.bytes = 0;
        let mut buffer = vec![0; COPY_BUFFER_BYTES];
        loop {
            let count = from.read(&mut buffer).map_err(|error| Failure::Unreachable(error.into()))?;
            if count == 0 {
                return Ok(());
            }
            self.append(&buffer[..count]).map_err(Failure::Local)?;
        }
    }

    /// Forgets all but the first so many.
    pub(crate) fn truncate(&mut self, bytes: u64) {
        self.bytes = self.bytes.min(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(gathered: &Gathered) -> Vec<u8> {
        let mut content = vec![0; usize::try_from(gathered.bytes()).unwrap()];
        gathered.file.read_exact_at(&mut content, 0).unwrap();
        content
    }

    #[test]
    fn what_is_forgotten_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let mut gathered = Gathered::new(directory.path()).unwrap();
        gathered.append(b"warp").unwrap();
        gathered.append(b" and woof").unwrap();
        gathered.truncate(9);
        gathered.append(b"weft").unwrap();
        assert_eq!(content(&gathered), b"warp and weft");
        gathered.truncate(100);
        assert_eq!(gathered.bytes(), 13);
        gathered.fill(&mut &b"cloth"[..]).unwrap();
        assert_eq!(content(&gathered), b"cloth");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "it has no name");
    }
}
