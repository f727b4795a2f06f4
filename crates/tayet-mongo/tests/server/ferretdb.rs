//! A server for the tests that run.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tayet_mongo::{Db, Mongo};
use tempfile::TempDir;

/// A database of one test's own. The server stays while somebody has one.
pub(crate) struct TestDatabase {
    pub(crate) mongo: Mongo,
    /// Of the database.
    pub(crate) uri: String,
    _server: Option<Arc<FerretDb>>,
}

struct FerretDb {
    process: Child,
    uri: String,
    _directory: TempDir,
}

static RUNNING: Mutex<Weak<FerretDb>> = Mutex::new(Weak::new());

impl TestDatabase {
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, |mongo| mongo)
    }

    pub(crate) fn with(name: &str, prepare: impl FnOnce(Mongo) -> Mongo) -> Self {
        let (uri, server) = match std::env::var("TAYET_TEST_MONGODB_URI") {
            Ok(uri) => (uri, None),
            Err(_) => {
                let server = FerretDb::running();
                (server.uri.clone(), Some(server))
            }
        };
        let uri = format!("{}/tayet_{name}", uri.trim_end_matches('/'));
        let mongo = Mongo::new(&uri).unwrap();
        mongo.db().command(tayet_mongo::doc! { "dropDatabase": 1 }).unwrap();
        Self { mongo: prepare(mongo), uri, _server: server }
    }

    pub(crate) fn db(&self) -> Db {
        self.mongo.db()
    }
}

impl FerretDb {
    fn running() -> Arc<Self> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    fn start() -> Self {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/bin/ferretdb");
        let program = std::env::var_os("TAYET_FERRETDB").map_or(PathBuf::from(built), PathBuf::from);
        let directory = tempfile::tempdir().unwrap();
        let mut process = Command::new(&program)
            .args(["-listen", "127.0.0.1:0", "-directory"])
            .arg(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; TAYET_FERRETDB may name it", program.display()));
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let uri = line.trim().strip_prefix("listening on ").expect("it says where it listens").to_owned();
        Self { process, uri, _directory: directory }
    }
}

impl Drop for FerretDb {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
