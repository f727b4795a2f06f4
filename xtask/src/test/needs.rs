//! What the checks need beside Rust, Python and Node, installed only where it is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};

use crate::process::{Runner, output_of, side_by_side, succeeds};
use crate::workspace::Workspace;

/// How long one installation may take before it is ended.
const INSTALL_LIMIT_MINUTES: u64 = 15;

/// Something that a check cannot do without.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// A component of the Rust toolchain, by rustup's name.
    RustComponent(&'static str),
    /// A Debian package.
    Apt(&'static str),
    /// `.venv` with the packages of this file, whose versions are pinned.
    PythonPackages(&'static str),
    /// The npm packages of this directory's lock file.
    NodeModules(&'static str),
    /// A program that cargo builds from source.
    Cargo(CargoTool),
    /// A server that is written in Go; without Go there is none, and the check says what it leaves out.
    Go(GoTool),
}

/// A program of a crate, at the version that the checks were written for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CargoTool {
    package: &'static str,
    version: &'static str,
    /// What the program needs beside the crate's defaults.
    features: &'static str,
}

/// A program that is built from source by a Go module of the repository, which pins its version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GoTool {
    name: &'static str,
    /// The directory of the module.
    module: &'static str,
    package: &'static str,
}

/// Installs those of `needs` that are missing.
pub(super) fn install(workspace: &Workspace, runner: &Runner, needs: &BTreeSet<Need>) -> anyhow::Result<()> {
    let installer = Installer { workspace, runner };
    let packages = needs.iter().filter_map(|need| match need {
        Need::Apt(package) => Some(*package),
        _ => None,
    });
    // First: there may be compilers among them.
    installer.install_apt(&packages.collect::<Vec<_>>())?;
    let mut by_manager = BTreeMap::<Manager, Vec<Need>>::new();
    for need in needs {
        by_manager.entry(need.manager()).or_default().push(*need);
    }
    // Side by side: one waits for its downloads while another compiles.
    let jobs: Vec<_> = by_manager.values().map(|needs| || installer.install_all(needs)).collect();
    side_by_side(&jobs.iter().map(|job| job as _).collect::<Vec<_>>())
}

/// Who installs something; each does one thing after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Manager {
    Apt,
    Cargo,
    Go,
    Npm,
    Pip,
}

impl Need {
    fn manager(self) -> Manager {
        match self {
            Self::Apt(_) => Manager::Apt,
            Self::RustComponent(_) | Self::Cargo(_) => Manager::Cargo,
            Self::Go(_) => Manager::Go,
            Self::NodeModules(_) => Manager::Npm,
            Self::PythonPackages(_) => Manager::Pip,
        }
    }
}

impl CargoTool {
    pub(super) const DENY: Self = Self { package: "cargo-deny", version: "0.20.2", features: "" };
    pub(super) const FUZZ: Self = Self { package: "cargo-fuzz", version: "0.13.2", features: "" };
    /// A server that speaks as Amazon S3 does.
    pub(super) const S3S_FS: Self = Self { package: "s3s-fs", version: "0.14.1", features: "binary" };

    /// `PATH`, with the directory in front into which tools are installed: a user's own tools stay as they are.
    pub(super) fn search_path(workspace: &Workspace) -> OsString {
        let mut path = workspace.path("target/tools/bin").into_os_string();
        if let Some(inherited) = std::env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        path
    }

    fn is_installed(self, workspace: &Workspace) -> bool {
        let mut command = Command::new(self.package);
        command.env("PATH", Self::search_path(workspace)).arg("--version");
        output_of(&mut command).is_ok_and(|shown| self.is_shown_by(&shown))
    }

    fn is_shown_by(self, version_line: &str) -> bool {
        version_line.split_whitespace().any(|word| word == self.version)
    }
}

impl GoTool {
    pub(super) const FERRETDB: Self = Self { name: "ferretdb", module: "tests/mongo/ferretdb", package: "." };
    pub(super) const TOXIPROXY: Self = Self {
        name: "toxiproxy",
        module: "tests/mongo/toxiproxy",
        package: "github.com/Shopify/toxiproxy/v2/cmd/server",
    };

    /// Whether there is a Go to build anything with.
    pub(super) fn can_be_built() -> bool {
        succeeds(Command::new("go").arg("version"))
    }
}

struct Installer<'a> {
    workspace: &'a Workspace,
    runner: &'a Runner,
}

impl Installer<'_> {
    fn install_all(&self, needs: &[Need]) -> anyhow::Result<()> {
        needs.iter().try_for_each(|need| match need {
            Need::RustComponent(component) => self.install_component(component),
            // All at once, before.
            Need::Apt(_) => Ok(()),
            Need::PythonPackages(requirements) => self.install_python_packages(requirements),
            Need::NodeModules(directory) => self.install_node_modules(directory),
            Need::Cargo(tool) => self.install_tool(*tool),
            Need::Go(tool) => self.build_go_tool(*tool),
        })
    }

    fn install_apt(&self, packages: &[&str]) -> anyhow::Result<()> {
        let missing: Vec<_> = packages.iter().copied().filter(|package| !is_apt_installed(package)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let wish = format!("apt-get install {}", missing.join(" "));
        ensure!(
            succeeds(Command::new("apt-get").arg("--version")),
            "this is not Debian or its kin: install what corresponds to `{wish}`"
        );
        ensure!(rustix::process::geteuid().is_root(), "only root may do this: run `{wish}` first");
        self.run(apt_get().arg("update"))?;
        self.run(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(missing))
    }

    fn install_component(&self, component: &str) -> anyhow::Result<()> {
        let program = if component == "clippy" { "clippy-driver" } else { component };
        if succeeds(Command::new(program).arg("--version")) {
            return Ok(());
        }
        self.run(Command::new("rustup").args(["component", "add", component]))
    }

    fn install_python_packages(&self, requirements: &str) -> anyhow::Result<()> {
        let python = self.workspace.path(".venv/bin/python");
        if !succeeds(Command::new(&python).args(["-m", "pip", "--version"])) {
            self.create_python_environment()?;
        }
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
        self.run(pip.arg(self.workspace.path(requirements)))
    }

    fn create_python_environment(&self) -> anyhow::Result<()> {
        // Debian ships Python without what `venv` needs to set up pip.
        if !succeeds(Command::new("python3").args(["-c", "import ensurepip"])) {
            self.install_apt(&["python3-venv"])?;
        }
        let mut venv = Command::new("python3");
        self.run(venv.args(["-m", "venv", "--clear"]).arg(self.workspace.path(".venv")))
    }

    fn install_node_modules(&self, directory: &str) -> anyhow::Result<()> {
        let directory = self.workspace.path(directory);
        // npm leaves its own lock file behind when it has installed everything.
        let installed = modified(&directory.join("node_modules/.package-lock.json"));
        if installed.is_some() && installed >= modified(&directory.join("package-lock.json")) {
            return Ok(());
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        self.run(npm.current_dir(directory))
    }

    fn install_tool(&self, tool: CargoTool) -> anyhow::Result<()> {
        if tool.is_installed(self.workspace) {
            return Ok(());
        }
        let mut cargo = Command::new("cargo");
        // Neither optimized nor to be debugged: building the tools takes far longer than what they do here.
        cargo.args(["install", "--debug", "--locked", "--version", tool.version, tool.package]);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
        cargo.args(["--features", tool.features]);
        cargo.arg("--root").arg(self.workspace.path("target/tools"));
        self.run(&mut cargo)?;
        if !tool.is_installed(self.workspace) {
            bail!("{} {} was installed and does not start", tool.package, tool.version);
        }
        Ok(())
    }

    fn build_go_tool(&self, tool: GoTool) -> anyhow::Result<()> {
        if !GoTool::can_be_built() {
            println!("install: {} CANNOT BE BUILT: there is no Go here", tool.name);
            return Ok(());
        }
        let mut go = Command::new("go");
        // Go itself knows what of it has changed since it was last built.
        go.args(["build", "-trimpath", "-o"]).arg(self.workspace.path("target/tools/bin").join(tool.name));
        self.run(go.arg(tool.package).current_dir(self.workspace.path(tool.module)))
    }

    fn run(&self, command: &mut Command) -> anyhow::Result<()> {
        self.runner
            .run(command, Duration::from_secs(INSTALL_LIMIT_MINUTES * 60))
            .context("cannot install what the checks need")
    }
}

fn is_apt_installed(package: &str) -> bool {
    output_of(Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package]))
        .is_ok_and(|status| status == "installed")
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_version_counts_as_installed() {
        assert!(CargoTool::DENY.is_shown_by("cargo-deny 0.20.2\n"));
        assert!(!CargoTool::DENY.is_shown_by("cargo-deny 0.20.20\n"));
        assert!(!CargoTool::DENY.is_shown_by("cargo-deny 0.19.0\n"));
    }

    #[test]
    fn the_projects_tools_come_first() {
        let workspace = Workspace::here().unwrap();
        let path = CargoTool::search_path(&workspace).into_string().unwrap();
        assert!(path.starts_with(workspace.path("target/tools/bin:").to_str().unwrap()), "{path}");
    }

    #[test]
    fn every_go_tool_has_a_module_that_pins_it() {
        let workspace = Workspace::here().unwrap();
        for tool in [GoTool::FERRETDB, GoTool::TOXIPROXY] {
            let module = workspace.path(tool.module);
            assert!(module.join("go.mod").is_file() && module.join("go.sum").is_file(), "{}", tool.name);
        }
    }

    #[test]
    fn a_package_that_debian_does_not_have_is_not_installed() {
        assert!(!is_apt_installed("no-such-package-anywhere"));
    }
}
