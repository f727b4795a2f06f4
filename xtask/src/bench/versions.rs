//! Which release of each contestant was measured.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use super::contestant::Program;
use super::wsgi;
use crate::process::output_of;
use crate::workspace::Workspace;

/// What is needed of a package.json.
#[derive(Deserialize)]
struct NodeManifest {
    /// Exact versions by name.
    dependencies: BTreeMap<String, String>,
}

/// The version of what `program` shows; the floors have none.
pub(super) fn version_of(workspace: &Workspace, program: Program) -> anyhow::Result<Option<String>> {
    let read =
        |path: &str| fs::read_to_string(workspace.path(path)).with_context(|| format!("reading {path}"));
    match program {
        Program::Floor(_) => Ok(None),
        Program::Arena
        | Program::Example { .. }
        | Program::Tayet
        | Program::Wsgi { package: "tayet", .. } => {
            let mut git = Command::new("git");
            git.args(["describe", "--always", "--dirty"]).current_dir(workspace.root());
            Ok(Some(output_of(&mut git)?.trim().to_owned()))
        }
        Program::Rust { library, .. } => Ok(locked_version(&read("bench/peers/Cargo.lock")?, library)),
        Program::Go("fasthttp") => Ok(required_version(&read("bench/peers/go/go.mod")?, "fasthttp")),
        Program::Go("gorilla") => Ok(required_version(&read("bench/peers/go/go.mod")?, "gorilla/websocket")),
        Program::Node { .. } => node_version(&read("bench/peers/node/package.json")?, "ws"),
        Program::NodeMongo => node_version(&read("bench/peers/node/package.json")?, "mongodb"),
        Program::Go("mongo") => Ok(required_version(&read("bench/peers/go/go.mod")?, "mongo-driver/v2")),
        Program::Crate { version, .. } => Ok(Some(version.to_owned())),
        Program::Tusd => Ok(required_version(&read("bench/peers/tusd/go.mod")?, "tus/tusd/v2")),
        Program::Wsgi { package, .. } => Ok(pinned_version(&read(wsgi::REQUIREMENTS)?, package)),
        Program::Go(_) => {
            Ok(Some(output_of(Command::new("go").args(["env", "GOVERSION"]))?.trim().to_owned()))
        }
        Program::Nginx { .. } => {
            let output = Command::new("nginx").arg("-v").output().context("cannot start `nginx`")?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Ok(text.trim().rsplit_once('/').map(|(_, version)| version.to_owned()))
        }
    }
}

fn node_version(manifest: &str, library: &str) -> anyhow::Result<Option<String>> {
    let manifest: NodeManifest = serde_json::from_str(manifest)?;
    Ok(manifest.dependencies.get(library).cloned())
}

fn locked_version(lock: &str, library: &str) -> Option<String> {
    let name = format!("name = \"{library}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?;
    Some(version.to_owned())
}

fn pinned_version(requirements: &str, package: &str) -> Option<String> {
    requirements.lines().find_map(|line| Some(line.strip_prefix(package)?.strip_prefix("==")?.to_owned()))
}

fn required_version(go_mod: &str, module: &str) -> Option<String> {
    let suffix = format!("/{module}");
    let mut words = go_mod.split_whitespace().skip_while(|word| !word.ends_with(&suffix));
    words.nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_tells_versions() {
        let lock = "[[package]]\nname = \"ntex-net\"\nversion = \"9.9.9\"\n\n[[package]]\nname = \"ntex\"\nversion = \"3.12.3\"\n";
        assert_eq!(locked_version(lock, "ntex").as_deref(), Some("3.12.3"));
        assert_eq!(locked_version(lock, "hyper"), None);
    }

    #[test]
    fn requirements_tell_versions() {
        let requirements = "# all\nfastpysgi==0.6\nFlask==3.1.3\n";
        assert_eq!(pinned_version(requirements, "Flask").as_deref(), Some("3.1.3"));
        assert_eq!(pinned_version(requirements, "fast"), None);
    }

    #[test]
    fn a_go_module_tells_versions() {
        let go_mod = "module peers\n\nrequire github.com/valyala/fasthttp v1.65.0\n";
        assert_eq!(required_version(go_mod, "fasthttp").as_deref(), Some("v1.65.0"));
        assert_eq!(required_version(go_mod, "other"), None);
    }
}
