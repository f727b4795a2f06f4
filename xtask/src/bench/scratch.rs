//! A directory for what a server stores during its turn.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// An empty directory, which goes with this value.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes `path` such a directory, whatever an interrupted run has left there.
    pub(super) fn new(path: PathBuf) -> anyhow::Result<Self> {
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| format!("emptying {}", path.display()))?;
        }
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("bench: cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_gone_in_the_end_and_at_the_next_beginning() {
        let path = std::env::temp_dir().join(format!("tayet-scratch-{}", std::process::id()));
        fs::create_dir_all(path.join("left")).unwrap();
        let scratch = Scratch::new(path.clone()).unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        fs::write(path.join("stored"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
