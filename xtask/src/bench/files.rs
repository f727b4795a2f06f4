//! The files that servers of files serve.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::workspace::Workspace;

/// What paths of files begin with.
const PREFIX: &str = "/static/";
/// Names and sizes in bytes.
const FILES: [(&str, usize); 3] = [("1k.bin", 1 << 10), ("16k.bin", 1 << 14), ("1m.bin", 1 << 20)];

/// Whether `path` is that of a file.
pub(super) fn is_file(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// The directory in which `/static/1k.bin` is at `static/1k.bin`, with all files in it.
pub(super) fn root(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let root = workspace.path("target/bench/files");
    let directory = root.join("static");
    fs::create_dir_all(&directory)?;
    for (name, bytes) in FILES {
        let file = directory.join(name);
        // Written once: a file that changes is not held in memory for a while.
        if !file.exists() {
            fs::write(&file, content(bytes)).with_context(|| format!("writing {}", file.display()))?;
        }
    }
    Ok(root)
}

/// What the file at `path` holds.
pub(super) fn expected(path: &str) -> Option<Vec<u8>> {
    let name = path.strip_prefix(PREFIX)?;
    FILES.iter().find(|(file, _)| *file == name).map(|(_, bytes)| content(*bytes))
}

/// Not two pages of it are the same.
fn content(bytes: usize) -> Vec<u8> {
    (0_u32..).flat_map(|word| word.wrapping_mul(0x9e37_79b9).to_le_bytes()).take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::scenario::Family;

    #[test]
    fn every_file_that_is_asked_for_is_there_in_its_size() {
        let scenarios = Family::Files.scenarios();
        let paths: Vec<_> =
            scenarios.iter().map(|scenario| scenario.path).filter(|path| is_file(path)).collect();
        assert!(!paths.is_empty());
        assert!(paths.iter().all(|path| expected(path).is_some()));
        assert_eq!(expected("/static/16k.bin").unwrap().len(), 16 * 1024);
        assert_eq!(expected("/static/none"), None);
    }
}
