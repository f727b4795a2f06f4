//! What the kernel holds of a program's file.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Has the kernel read `program` anew when it is started next. It maps what it holds of a file in larger or smaller pieces, by
/// who wrote or read it and how, so that one copy of a program has up to half a megabyte more in memory than another.
///
/// What a running process has mapped stays. A name without a directory, which is the system's own program, is left alone.
pub(super) fn forget(program: &Path) -> io::Result<()> {
    if program.parent().is_none_or(|directory| directory.as_os_str().is_empty()) {
        return Ok(());
    }
    let file = File::open(program)?;
    // What is not written yet cannot be forgotten.
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bench::scratch::Scratch;

    #[test]
    fn a_program_that_is_forgotten_is_still_what_it_was() {
        let path = std::env::temp_dir().join(format!("tayet-page-cache-{}", std::process::id()));
        let directory = Scratch::new(path).unwrap();
        let program = directory.path().join("program");
        fs::write(&program, [7; 100_000]).unwrap();
        forget(&program).unwrap();
        assert_eq!(fs::read(&program).unwrap(), [7; 100_000]);
        assert!(forget(&directory.path().join("another")).is_err());
    }

    #[test]
    fn the_systems_own_programs_are_left_alone() {
        forget(Path::new("a-program-that-is-nowhere")).unwrap();
    }
}
