//! Python 2.7, for which alone the Autobahn suite is written.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::output_of;

/// An interpreter that starts.
pub(super) struct Python(PathBuf);

impl Python {
    /// The one on `PATH`, or else one of pyenv's, whose command on `PATH` runs chosen versions only.
    pub(super) fn find() -> Option<Self> {
        let on_path = executable("python2.7".as_ref());
        on_path.or_else(|| executable(&pyenv_directory()?.join("bin/python2.7"))).map(Self)
    }

    pub(super) fn command(&self) -> Command {
        Command::new(&self.0)
    }
}

fn executable(program: &Path) -> Option<PathBuf> {
    let shown = output_of(Command::new(program).args(["-c", "import sys; print(sys.executable)"])).ok()?;
    Some(PathBuf::from(shown.trim()))
}

fn pyenv_directory() -> Option<PathBuf> {
    let versions = output_of(Command::new("pyenv").args(["versions", "--bare"])).ok()?;
    let version = versions.lines().map(str::trim).find(|version| version.starts_with("2.7"))?;
    let directory = output_of(Command::new("pyenv").args(["prefix", version])).ok()?;
    Some(PathBuf::from(directory.trim()))
}
