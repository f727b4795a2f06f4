//! How a contestant is started for a scenario's work.

use std::collections::BTreeSet;
use std::fs;
use std::mem;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::client::request_text;
use super::contestant::{Contestant, Program};
use super::database::{DOCUMENT, Database};
use super::files;
use super::programs::Programs;
use super::scenario::SLEEP_MS;
use super::scenario::tus::MAX_REQUEST_BYTES;
use super::scenario::uploads::BODY_BYTES;
use super::scratch::Scratch;
use super::wsgi::{self, Wsgi};
use crate::workspace::Workspace;

/// How to start a contestant, and where.
pub(super) struct Launch {
    pub(super) command: Command,
    pub(super) address: SocketAddr,
    pub(super) log: PathBuf,
    pub(super) pings: bool,
    pub(super) scratch: Option<Scratch>,
    /// The processes of the database that it asks.
    pub(super) database: BTreeSet<u32>,
}

impl Launch {
    /// Prepares `contestant` to serve `path` on a free port; its files are below `target/bench`.
    pub(super) fn new(
        workspace: &Workspace,
        programs: &Programs,
        contestant: &Contestant,
        path: &str,
    ) -> anyhow::Result<Self> {
        let address = free_address()?;
        let directory = workspace.path("target/bench/servers").join(contestant.key);
        fs::create_dir_all(&directory)?;
        let mut place = Place { workspace, directory, address, path, scratch: None };
        let mut command = Command::new(programs.path(contestant.program)?);
        place.complete(&mut command, contestant)?;
        command.args(contestant.arguments);
        let Place { directory, scratch, .. } = place;
        let (log, database) = (directory.join("log"), BTreeSet::new());
        Ok(Self { command, address, log, pings: false, scratch, database })
    }

    /// Tells the server where its database is.
    pub(super) fn asking(
        mut self,
        workspace: &Workspace,
        contestant: &Contestant,
        database: &Database,
    ) -> Self {
        if let Program::Example { .. } = contestant.program {
            self.command.env("MONGODB_URI", &database.uri);
        } else {
            self.command.arg(&database.uri);
        }
        if matches!(contestant.program, Program::Go(_)) {
            self.command.arg(workspace.path(DOCUMENT));
        }
        self.database = database.processes();
        self
    }

    /// Tells a WSGI server what it serves, and with how many.
    pub(super) fn serving(mut self, contestant: &Contestant, wsgi: Wsgi) -> Self {
        if matches!(contestant.program, Program::Wsgi { .. }) {
            self.command.args(wsgi.arguments());
        }
        self
    }

    /// Has the server ping WebSockets that have been silent for so long, if it can be told to.
    pub(super) fn pinging(mut self, contestant: &Contestant, after: Duration) -> Self {
        self.pings = contestant.pings();
        if self.pings {
            self.command.env("TAYET_PING_INTERVAL_MS", after.as_millis().to_string());
        }
        self
    }
}

/// Where a server is started, and for what.
struct Place<'a> {
    workspace: &'a Workspace,
    /// The contestant's own.
    directory: PathBuf,
    address: SocketAddr,
    path: &'a str,
    scratch: Option<Scratch>,
}

impl Place<'_> {
    /// Tells the contestant's program, by `command`, where to listen and what to serve.
    fn complete(&mut self, command: &mut Command, contestant: &Contestant) -> anyhow::Result<()> {
        let (address, ip, port) =
            (self.address, self.address.ip().to_string(), self.address.port().to_string());
        match contestant.program {
            // Its arguments say how many loops it has.
            Program::Floor(_) if !contestant.arguments.is_empty() => {
                command.arg(address.to_string());
            }
            Program::Floor(name) => self.complete_floor(command.arg(address.to_string()), name)?,
            Program::Arena => {
                command.arg("--listen").arg(address.to_string());
                if files::is_file(self.path) {
                    command.arg("--static").arg(files::root(self.workspace)?.join("static"));
                }
            }
            Program::Example { .. } => {
                command.env("PORT", &port);
            }
            Program::Tayet => {
                command.arg("uploads").arg(self.scratch()?).arg("--listen").arg(address.to_string());
            }
            Program::Rust { .. } | Program::Go("gorilla" | "mongo") => {
                command.arg(address.to_string());
            }
            Program::Go(_) => {
                command.arg(address.to_string()).arg(dataset(self.workspace));
            }
            Program::Node { processes } => {
                let script = mem::replace(command, Command::new("node"));
                command.arg(script.get_program()).arg(address.to_string()).arg(processes.to_string());
            }
            Program::NodeMongo => {
                let script = mem::replace(command, Command::new("node"));
                command.arg(script.get_program()).arg(address.to_string());
            }
            Program::Nginx { caches_files } => {
                let configuration = self.write_nginx_configuration(caches_files)?;
                command.arg("-p").arg(&self.directory).arg("-c").arg(configuration);
            }
            Program::Tusd => {
                command.args(["-host", &ip, "-port", &port, "-base-path", self.path, "-verbose=false"]);
                command.arg("-upload-dir").arg(self.scratch()?);
            }
            Program::Wsgi { server, .. } => {
                command.arg(self.workspace.path(wsgi::SCRIPT)).args([server, &ip, &port]);
            }
            Program::Crate { package: "rustus", .. } => {
                let scratch = self.scratch()?;
                command.args(["--host", &ip, "--port", &port, "--url", self.path, "--log-level", "ERROR"]);
                command.arg("--data-dir").arg(&scratch).arg("--info-dir").arg(&scratch);
                command.args(["--max-body-size", &MAX_REQUEST_BYTES.to_string()]);
            }
            Program::Crate { .. } => {
                command.args(["--host", &ip, "--port", &port, "--log-level", "error", "--root"]);
                command.arg(files::root(self.workspace)?);
            }
        }
        Ok(())
    }

    fn complete_floor(&self, command: &mut Command, name: &str) -> anyhow::Result<()> {
        if name == "floor-sleeper" {
            command.arg(SLEEP_MS.to_string());
            return Ok(());
        }
        command.arg(cores().to_string());
        match name {
            "floor-parsing" | "floor-websocket" => {}
            "floor-sink" => {
                command.arg(BODY_BYTES.to_string());
            }
            "floor-sendfile" => {
                command.args(self.body_file()?);
            }
            _ => {
                command.arg(request_text(self.path, self.address).len().to_string()).args(self.body_file()?);
            }
        }
        Ok(())
    }

    /// What a floor answers with that does not say hello.
    fn body_file(&self) -> anyhow::Result<Option<PathBuf>> {
        if files::is_file(self.path) {
            return Ok(Some(files::root(self.workspace)?.join(&self.path[1..])));
        }
        Ok(is_json(self.path).then(|| dataset(self.workspace)))
    }

    /// A directory for what the server receives.
    fn scratch(&mut self) -> anyhow::Result<PathBuf> {
        let scratch = self.scratch.insert(Scratch::new(self.directory.join("received"))?);
        Ok(scratch.path().to_owned())
    }

    fn write_nginx_configuration(&self, caches_files: bool) -> anyhow::Result<PathBuf> {
        let template = fs::read_to_string(self.workspace.path("bench/nginx.conf.in"))?;
        let cache = if caches_files { "open_file_cache max=1000;" } else { "" };
        let text = template
            .replace("@ADDRESS@", &self.address.to_string())
            .replace("@WORKERS@", &cores().to_string())
            .replace("@FILE_CACHE@", cache)
            .replace("@FILES@", &files::root(self.workspace)?.display().to_string())
            .replace("@DIRECTORY@", &self.directory.display().to_string());
        let path = self.directory.join("nginx.conf");
        fs::write(&path, text)?;
        Ok(path)
    }
}

/// A port that is free now; nothing else on the machine is expected to take it within the next moment.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn dataset(workspace: &Workspace) -> PathBuf {
    workspace.path("bench/peers/dataset.json")
}

pub(super) fn is_json(path: &str) -> bool {
    path.starts_with("/json/") || path.starts_with("/json-comp/")
}
