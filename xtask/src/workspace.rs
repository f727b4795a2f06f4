//! Where the repository is and what is in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

/// The repository's working tree.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// What `cargo metadata` says about one of the workspace's packages.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest declares it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for an ordinary dependency.
    pub(crate) kind: Option<DependencyKind>,
}

/// The tables of a manifest beside `[dependencies]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    Dev,
    Build,
}

impl Workspace {
    /// The workspace that this xtask was built from.
    pub(crate) fn here() -> anyhow::Result<Self> {
        let manifest_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest_directory.parent().context("xtask lies in the workspace's root")?;
        Ok(Self { root: root.to_owned() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Every file that git tracks or would track, relative to the root, in order.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let listing = self.output_of(Command::new("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ]))?;
        let paths = listing.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // A file removed from the tree stays in git's index until the removal is committed.
        Ok(paths.filter(|path| self.path(path).is_file()).collect())
    }

    /// The workspace's own packages.
    pub(crate) fn packages(&self) -> anyhow::Result<Vec<Package>> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
        }
        let json =
            self.output_of(Command::new("cargo").args(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: Metadata = serde_json::from_str(&json).context("reading cargo's metadata")?;
        Ok(metadata.packages)
    }

    fn output_of(&self, command: &mut Command) -> anyhow::Result<String> {
        crate::process::output_of(command.current_dir(&self.root))
    }
}
