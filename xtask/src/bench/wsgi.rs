//! Servers of WSGI applications: installed into an environment of their own, and told what to serve.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::{self, LIMIT};
use super::wrk::Load;
use crate::process::{Runner, succeeds};
use crate::workspace::Workspace;

/// Becomes any of the servers.
pub(super) const SCRIPT: &str = "bench/peers/wsgi/serve.py";
/// The packages, whose versions are pinned.
pub(super) const REQUIREMENTS: &str = "bench/peers/wsgi/requirements.txt";
const ENVIRONMENT: &str = "target/bench/wsgi";

/// What a WSGI server serves, with how many, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wsgi {
    pub(super) load: Load,
    pub(super) application: Application,
    pub(super) workers: u32,
    /// Of a worker, where the server has a fixed number of them.
    pub(super) threads: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Application {
    /// Without a framework.
    Plain,
    Flask,
}

impl Wsgi {
    /// What the script is told of it.
    pub(super) fn arguments(self) -> [String; 3] {
        let application = match self.application {
            Application::Plain => "plain",
            Application::Flask => "flask",
        };
        [self.workers.to_string(), self.threads.to_string(), application.to_owned()]
    }
}

/// Installs `package`, and returns the interpreter that has it.
pub(super) fn install(workspace: &Workspace, runner: &Runner, package: &str) -> anyhow::Result<PathBuf> {
    let python = workspace.path(ENVIRONMENT).join("bin/python");
    if !succeeds(Command::new(&python).args(["-m", "pip", "--version"])) {
        runner.run(
            Command::new("python3")
                .args(["-m", "venv", "--clear", ENVIRONMENT])
                .current_dir(workspace.root()),
            LIMIT,
        )?;
    }
    if package == "bjoern" && !Path::new("/usr/include/ev.h").exists() {
        programs::install_package(runner, "libev-dev")?;
    }
    // pip looks for maturin by its name.
    let path = format!("{}:{}", workspace.path(ENVIRONMENT).join("bin").display(), env::var("PATH")?);
    let pip = |arguments: &[&str]| {
        let mut pip = Command::new(&python);
        pip.env("PATH", &path);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        runner.run(pip.current_dir(workspace.root()), LIMIT)
    };
    // Everyone serves Flask's application too.
    pip(&["--constraint", REQUIREMENTS, "Flask"])?;
    if package == "tayet" {
        pip(&["--constraint", REQUIREMENTS, "maturin"])?;
        // Anew each time: its version does not change with its code.
        pip(&["--no-build-isolation", "--no-deps", "--force-reinstall", "./python"])?;
    } else {
        pip(&["--constraint", REQUIREMENTS, package])?;
    }
    Ok(python)
}
