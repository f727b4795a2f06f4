//! Building and installing what takes part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};

use super::contestant::Program;
use super::database::FERRETDB;
use super::wsgi;
use crate::process::{Runner, succeeds};
use crate::workspace::Workspace;

/// How long one build or installation may take before it is ended.
pub(super) const LIMIT: Duration = Duration::from_secs(20 * 60);
/// The same for programs with hundreds of dependencies, none of which are there yet.
const INSTALL_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Where each program is, or why it is not there.
pub(super) struct Programs {
    found: BTreeMap<Program, Result<PathBuf, String>>,
    /// What takes no turns of its own: load generators, and the database that servers ask.
    helpers: BTreeMap<&'static str, PathBuf>,
}

impl Programs {
    /// Builds those of `wanted`; what fails is remembered as such and told to who asks for it.
    pub(super) fn build(
        workspace: &Workspace,
        runner: &Runner,
        wanted: &BTreeSet<Program>,
    ) -> anyhow::Result<Self> {
        let mut found = BTreeMap::new();
        for program in wanted {
            ensure!(!runner.is_interrupted(), "interrupted");
            let outcome = build(workspace, runner, *program).map_err(|error| format!("{error:#}"));
            if let Err(reason) = &outcome {
                eprintln!("bench: {program} WILL BE MISSING: {reason}");
            }
            found.insert(*program, outcome);
        }
        Ok(Self { found, helpers: BTreeMap::new() })
    }

    /// Builds helpers too: `ferretdb`, and load generators of the peers' workspace.
    pub(super) fn with_helpers(
        mut self,
        workspace: &Workspace,
        runner: &Runner,
        names: &BTreeSet<&'static str>,
    ) -> anyhow::Result<Self> {
        for name in names {
            let path = match *name {
                FERRETDB => build_ferretdb(workspace, runner)?,
                load => build_peer(workspace, runner, load, load)?,
            };
            self.helpers.insert(name, path);
        }
        Ok(self)
    }

    pub(super) fn helper(&self, name: &str) -> anyhow::Result<&Path> {
        let path = self.helpers.get(name).with_context(|| format!("{name} was not asked for"))?;
        Ok(path)
    }

    pub(super) fn path(&self, program: Program) -> anyhow::Result<&Path> {
        match self.found.get(&program) {
            Some(Ok(path)) => Ok(path),
            Some(Err(reason)) => Err(anyhow!("{program} cannot be built: {reason}")),
            None => Err(anyhow!("{program} was not asked for")),
        }
    }
}

/// Installs a Debian package that is named like its command, unless the command is there.
pub(super) fn install(runner: &Runner, name: &str) -> anyhow::Result<()> {
    if is_installed(name) {
        return Ok(());
    }
    install_package(runner, name)?;
    ensure!(is_installed(name), "{name} is installed, but its command is still missing");
    Ok(())
}

/// Installs a Debian package.
pub(super) fn install_package(runner: &Runner, name: &str) -> anyhow::Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    ensure!(is_root, "`{name}` is missing, and only root can install it: apt-get install {name}");
    runner.run(apt_get().arg("update"), LIMIT)?;
    runner.run(apt_get().args(["install", "--yes", "--no-install-recommends", name]), LIMIT)
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=300"]).env("DEBIAN_FRONTEND", "noninteractive");
    // In the single-user runlevel, Debian starts no service that is being installed: port 80 is none of our business.
    command.env("RUNLEVEL", "1");
    command
}

fn is_installed(command: &str) -> bool {
    succeeds(Command::new("sh").args(["-c", "command -v \"$0\"", command]))
}

fn build(workspace: &Workspace, runner: &Runner, program: Program) -> anyhow::Result<PathBuf> {
    match program {
        Program::Floor(name) => build_peer(workspace, runner, "peer-floor", name),
        Program::Rust { package, .. } => build_peer(workspace, runner, package, package),
        Program::Arena => build_arena(workspace, runner),
        Program::Example { package, name } => build_example(workspace, runner, package, name),
        Program::Go(name) => build_go(workspace, runner, name),
        Program::Node { .. } => install_node_server(workspace, runner, "server.js"),
        Program::NodeMongo => install_node_server(workspace, runner, "mongo.js"),
        Program::Nginx { .. } => {
            install(runner, "nginx")?;
            Ok(PathBuf::from("nginx"))
        }
        Program::Tayet => build_tayet(workspace, runner),
        Program::Crate { package, version } => install_crate(workspace, runner, package, version),
        Program::Tusd => build_tusd(workspace, runner),
        Program::Wsgi { package, .. } => wsgi::install(workspace, runner, package),
    }
}

// The paths in these commands are relative, because commands that fail are quoted in the report.

fn build_peer(workspace: &Workspace, runner: &Runner, package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let directory = workspace.path("bench/peers");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--target-dir", "target", "--package", package]);
    runner.run(cargo.current_dir(&directory), LIMIT)?;
    Ok(directory.join("target/release").join(name))
}

/// Builds the arena, with all optimizations.
pub(crate) fn build_arena(workspace: &Workspace, runner: &Runner) -> anyhow::Result<PathBuf> {
    build_example(workspace, runner, "tayet-cli", "arena")
}

fn build_example(
    workspace: &Workspace,
    runner: &Runner,
    package: &str,
    name: &str,
) -> anyhow::Result<PathBuf> {
    let arguments = ["--package", package, "--example", name];
    build_own(workspace, runner, &arguments, &format!("examples/{name}"))
}

fn build_tayet(workspace: &Workspace, runner: &Runner) -> anyhow::Result<PathBuf> {
    build_own(workspace, runner, &["--package", "tayet-cli"], "tayet")
}

/// Builds what `arguments` name, and returns a copy of its `binary` below `target/release`.
fn build_own(
    workspace: &Workspace,
    runner: &Runner,
    arguments: &[&str],
    binary: &str,
) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target-dir", "target"]).args(arguments);
    runner.run(cargo.current_dir(workspace.root()), LIMIT)?;
    let built = workspace.path("target/release").join(binary);
    // A copy, so that whoever goes on working meanwhile does not change what is being measured.
    let copy = workspace.path("target/bench").join(built.file_name().context("a binary has a name")?);
    fs::create_dir_all(workspace.path("target/bench"))?;
    fs::copy(built, &copy)?;
    Ok(copy)
}

/// Does nothing when this version is there.
fn install_crate(
    workspace: &Workspace,
    runner: &Runner,
    package: &str,
    version: &str,
) -> anyhow::Result<PathBuf> {
    let directory = workspace.path("bench/peers");
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--locked", "--root", "target/installed", "--version", version, package]);
    // Its own directory, whatever the environment says: what is shared grows without end.
    cargo.env_remove("CARGO_TARGET_DIR");
    runner.run(cargo.current_dir(&directory), INSTALL_LIMIT)?;
    Ok(directory.join("target/installed/bin").join(package))
}

fn build_go(workspace: &Workspace, runner: &Runner, name: &str) -> anyhow::Result<PathBuf> {
    go_build(workspace, runner, ("bench/peers/go", &format!("./{name}")), "../../bin/")?;
    Ok(workspace.path("bench/bin").join(name))
}

fn build_tusd(workspace: &Workspace, runner: &Runner) -> anyhow::Result<PathBuf> {
    go_build(workspace, runner, ("bench/peers/tusd", "github.com/tus/tusd/v2/cmd/tusd"), "../../bin/")?;
    Ok(workspace.path("bench/bin/tusd"))
}

fn build_ferretdb(workspace: &Workspace, runner: &Runner) -> anyhow::Result<PathBuf> {
    go_build(workspace, runner, ("tests/mongo/ferretdb", "."), "../../../target/tools/bin/")?;
    Ok(workspace.path("target/tools/bin/ferretdb"))
}

/// Builds a command of a Go module; `output` is a directory, as seen from the module.
fn go_build(
    workspace: &Workspace,
    runner: &Runner,
    (module, command): (&str, &str),
    output: &str,
) -> anyhow::Result<()> {
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o", output, command]);
    runner.run(go.current_dir(workspace.path(module)), LIMIT)
}

/// Installs what the script needs, and returns the script.
fn install_node_server(workspace: &Workspace, runner: &Runner, script: &str) -> anyhow::Result<PathBuf> {
    let directory = workspace.path("bench/peers/node");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund"]);
    runner.run(npm.current_dir(&directory), LIMIT)?;
    Ok(directory.join(script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_built_says_why() {
        let found = BTreeMap::from([
            (Program::Arena, Err("no such example".to_owned())),
            (Program::Tusd, Ok(PathBuf::from("tusd"))),
        ]);
        let programs = Programs { found, helpers: BTreeMap::new() };
        assert_eq!(programs.path(Program::Tusd).unwrap(), Path::new("tusd"));
        let error = programs.path(Program::Arena).unwrap_err();
        assert_eq!(error.to_string(), "arena cannot be built: no such example");
        let error = programs.path(Program::Go("nethttp")).unwrap_err();
        assert_eq!(error.to_string(), "nethttp was not asked for");
    }

    #[test]
    fn a_command_is_found_by_its_name() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-command-anywhere"));
    }
}
