//! A server of MongoDB's wire protocol, with one document in it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::background::Background;
use super::client::Connection;
use super::launch::Launch;
use super::programs::Programs;
use super::scenario::mongo::{KEEPER, OFFICES};
use super::scratch::Scratch;
use super::server::Server;
use crate::workspace::Workspace;

/// The program: FerretDB with SQLite, as in the project's tests.
pub(super) const FERRETDB: &str = "ferretdb";
/// The document, which servers that have no database make of themselves too.
pub(super) const DOCUMENT: &str = "bench/peers/office.json";
/// The drivers' defaults differ: some have 10, some 100.
const MAX_CONNECTIONS: u32 = 100;
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// Ends with this value.
pub(super) struct Database {
    process: Background,
    /// With the database's name and the limit of the driver's pool.
    pub(super) uri: String,
    _scratch: Scratch,
}

impl Database {
    /// Starts the server, and stores the document by way of Tayet.
    pub(super) fn start(workspace: &Workspace, programs: &Programs) -> anyhow::Result<Self> {
        let scratch = Scratch::new(workspace.path("target/bench/servers/database"))?;
        let mut command = Command::new(programs.helper(FERRETDB)?);
        command.args(["-listen", "127.0.0.1:0", "-directory"]).arg(scratch.path());
        let (process, _, output) = Background::start_with_pipes(&mut command)?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("waiting for the database")?;
        let server = line.trim().strip_prefix("listening on ");
        let server = server.with_context(|| format!("the database said {line:?}"))?.trim_end_matches('/');
        let uri = format!("{server}/office?maxPoolSize={MAX_CONNECTIONS}");
        let database = Self { process, uri, _scratch: scratch };
        database.store_document(workspace, programs)?;
        Ok(database)
    }

    pub(super) fn processes(&self) -> BTreeSet<u32> {
        BTreeSet::from([self.process.pid()])
    }

    fn store_document(&self, workspace: &Workspace, programs: &Programs) -> anyhow::Result<()> {
        let launch = Launch::new(workspace, programs, &KEEPER, "/")?.asking(workspace, &KEEPER, self);
        let server = Server::start(launch, "/")?;
        let document = std::fs::read_to_string(workspace.path(DOCUMENT))?;
        let collection = OFFICES.trim_end_matches('/');
        let answer = Connection::open(server.address, ANSWER_LIMIT)?.post(collection, &document)?;
        let body = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "storing the document: {} {body}", answer.status);
        Ok(())
    }
}

/// Fails unless `body` is the document, but for the order of its members.
pub(super) fn check_document(body: &[u8]) -> anyhow::Result<()> {
    let expected: Value = serde_json::from_str(include_str!("../../../bench/peers/office.json"))?;
    let found: Value = serde_json::from_slice(body)?;
    ensure!(found == expected, "expected the office");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_document_passes() {
        let document = include_str!("../../../bench/peers/office.json");
        check_document(document.as_bytes()).unwrap();
        assert!(check_document(document.replace("Loom", "loom").as_bytes()).is_err());
        assert!(check_document(b"{}").is_err());
    }
}
