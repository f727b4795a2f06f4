//! A contestant's server: started, waited for, checked, ended.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use flate2::read::GzDecoder;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::Deserialize;

use super::background::Background;
use super::client::{Connection, Response};
use super::contestant::Contestant;
use super::database;
use super::files;
use super::launch::{Launch, is_json};
use super::page_cache;
use super::process_stat;
use super::scenario::mongo::{OFFICE_JSON, OFFICES};
use super::scratch::Scratch;

/// How long a server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How much of a wrong answer is told.
const SHOWN_BYTES: usize = 1000;
/// How long a single answer may take while the server is otherwise idle.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A server that answers, and ends with this value.
pub(super) struct Server {
    process: Background,
    pub(super) address: SocketAddr,
    /// The path of the scenario's work.
    pub(super) path: String,
    /// Whether it pings idle WebSockets.
    pub(super) pings: bool,
    /// The processes of the database that it asks.
    pub(super) database: BTreeSet<u32>,
    /// Where it stores what it receives: dropped when the server has ended.
    _scratch: Option<Scratch>,
}

impl Server {
    /// Starts `launch` and returns when the server answers `path`, within `limit`.
    pub(super) fn start_within(mut launch: Launch, path: &str, limit: Duration) -> anyhow::Result<Self> {
        let log = File::create(&launch.log)?;
        launch.command.stdout(log.try_clone()?).stderr(log);
        page_cache::forget(Path::new(launch.command.get_program())).context("reading the program anew")?;
        let process = Background::start(&mut launch.command)?;
        let mut server = Self {
            process,
            address: launch.address,
            path: path.to_owned(),
            pings: launch.pings,
            database: launch.database,
            _scratch: launch.scratch,
        };
        server.wait_until_ready(Instant::now() + limit).with_context(|| last_line(&launch.log))?;
        Ok(server)
    }

    pub(super) fn start(launch: Launch, path: &str) -> anyhow::Result<Self> {
        Self::start_within(launch, path, START_LIMIT)
    }

    /// Fails unless the answers are what the scenario's work consists of.
    pub(super) fn check(&self, contestant: &Contestant) -> anyhow::Result<()> {
        if is_checked_by_its_load(&self.path) {
            return Ok(());
        }
        let response = self.ask_once()?;
        if contestant.is_floor() {
            return Ok(());
        }
        check_body(&self.path, &response.body).with_context(|| {
            let beginning = &response.body[..response.body.len().min(SHOWN_BYTES)];
            format!("{} answered {:?}", self.path, String::from_utf8_lossy(beginning))
        })
    }

    /// How many bytes an answer has that is compressed because `accepting` asks for it; fails unless it holds what the
    /// scenario's work consists of.
    pub(super) fn compressed_bytes(&self, accepting: &str) -> anyhow::Result<usize> {
        let response = Connection::open(self.address, ANSWER_LIMIT)?.get_with(&self.path, accepting)?;
        ensure!(response.field("content-encoding") == Some("gzip"), "it does not compress with gzip");
        let mut body = Vec::new();
        GzDecoder::new(&response.body[..]).read_to_end(&mut body).context("decompressing")?;
        check_body(&self.path, &body)?;
        Ok(response.body.len())
    }

    /// Fails unless the server closes a connection that asks for it.
    pub(super) fn check_close(&self) -> anyhow::Result<()> {
        let connection = Connection::open(self.address, ANSWER_LIMIT)?;
        ensure!(connection.closes_when_asked(&self.path)?, "it ignores `Connection: close`");
        Ok(())
    }

    /// The server's process and its workers.
    pub(super) fn processes(&self) -> anyhow::Result<BTreeSet<u32>> {
        process_stat::family(self.process.pid())
    }

    /// Asks the server to end and waits for it.
    pub(super) fn end_within(mut self, limit: Duration) -> anyhow::Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.wait(limit)?;
        Ok(())
    }

    /// Not every server tells its workers to end, and one that is killed cannot, so those that are left are killed.
    fn end(&mut self) -> anyhow::Result<()> {
        if self.process.ended()?.is_some() {
            return Ok(());
        }
        let mut family = Vec::new();
        for pid in self.processes()? {
            let pid = Pid::from_raw(i32::try_from(pid)?).context("a process id is not 0")?;
            // One that has ended since the list was made needs no signal.
            family.extend(pidfd_open(pid, PidfdFlags::empty()));
        }
        self.process.ends_when_asked()?;
        for process in family {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        Ok(())
    }

    fn wait_until_ready(&mut self, deadline: Instant) -> anyhow::Result<()> {
        loop {
            if let Some(status) = self.process.ended()? {
                bail!("it ended at once ({status})");
            }
            match self.is_ready() {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() >= deadline => return Err(error.context("it does not answer")),
                Err(_) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn is_ready(&self) -> anyhow::Result<()> {
        if is_checked_by_its_load(&self.path) {
            TcpStream::connect_timeout(&self.address, ANSWER_LIMIT)?;
            return Ok(());
        }
        let response = self.ask_once()?;
        ensure!(response.status == 200, "it answered {} with status {}", self.path, response.status);
        Ok(())
    }

    fn ask_once(&self) -> anyhow::Result<Response> {
        Connection::open(self.address, ANSWER_LIMIT)?.get(&self.path)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("bench: cannot end the server on {}: {error:#}", self.address);
        }
    }
}

/// Our own loads look at every answer, from the first one on.
fn is_checked_by_its_load(path: &str) -> bool {
    path == "/ws" || path.starts_with("/ws/") || path == "/upload" || path == "/files/"
}

pub(super) fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    match text.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("its last words: {line}"),
        None => "it said nothing".to_owned(),
    }
}

fn check_body(path: &str, body: &[u8]) -> anyhow::Result<()> {
    if is_json(path) {
        return check_json(body);
    }
    if path == OFFICE_JSON || path.starts_with(OFFICES) {
        return database::check_document(body);
    }
    if let Some(content) = files::expected(path) {
        ensure!(body == content, "expected the file");
    }
    let says_hello = body.trim_ascii_end() == b"Hello, World!";
    ensure!(!matches!(path, "/" | "/blocking") || says_hello, "expected `Hello, World!`");
    Ok(())
}

/// Fifty items, each with its total for m = 3, whatever data set the server brings.
fn check_json(body: &[u8]) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Item {
        price: f64,
        quantity: f64,
        total: f64,
    }
    #[derive(Deserialize)]
    struct Answer {
        items: Vec<Item>,
        count: usize,
    }
    let answer: Answer = serde_json::from_slice(body)?;
    ensure!(answer.items.len() == 50 && answer.count == 50, "expected 50 items");
    let is_right = |item: &Item| (item.price * item.quantity * 3.0 - item.total).abs() < 0.01;
    ensure!(answer.items.iter().all(is_right), "a total is not price * quantity * m");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(count: usize, total: u32) -> Vec<u8> {
        let item = format!(r#"{{"id":1,"price":5,"quantity":2,"total":{total}}}"#);
        format!(r#"{{"items":[{}],"count":{count}}}"#, vec![item; count].join(",")).into_bytes()
    }

    #[test]
    fn other_work_than_the_scenario_asks_for_is_refused() {
        check_body("/", b"Hello, World!").unwrap();
        check_body("/", b"Hello, World!\n").unwrap();
        check_body("/sleep/10", b"ok").unwrap();
        check_body("/json/50?m=3", &json(50, 30)).unwrap();
        assert!(check_body("/", b"Hello!").is_err());
        assert!(check_body("/json/50?m=3", &json(50, 31)).is_err());
        assert!(check_body("/json/50?m=3", &json(49, 30)).is_err());
        assert!(check_body("/json/50?m=3", b"{}").is_err());
    }
}
