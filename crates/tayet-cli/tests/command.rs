//! The command from outside: what it says, and how it begins and ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long something may take that comes at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn tayet(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tayet"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TAYET_")) {
        command.env_remove(name);
    }
    command
}

/// What it says when it ends by itself.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// A running server, ended when it is dropped.
struct Running {
    process: Child,
    output: BufReader<ChildStdout>,
    address: String,
    /// What it said until it listened.
    said: String,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut running = Self { process, output, address: String::new(), said: String::new() };
        running.wait_until_it_listens();
        running
    }

    fn wait_until_it_listens(&mut self) {
        while self.address.is_empty() {
            let before = self.said.len();
            let count = self.output.read_line(&mut self.said).unwrap();
            assert!(count > 0, "it ended before it listened: {:?}", self.said);
            if let Some(address) = self.said[before..].trim_end().strip_prefix("listening on http://") {
                self.address = address.to_owned();
            }
        }
    }

    /// The answer to a message of a connection that it ends.
    fn ask(&self, message: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.write_all(message.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"))
    }

    fn wait_for_figures(&self, wanted: &str) {
        let give_up_at = Instant::now() + PATIENCE;
        loop {
            let figures = self.get("/api/server");
            if figures.contains(wanted) {
                return;
            }
            assert!(Instant::now() < give_up_at, "{wanted} never comes: {figures}");
        }
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("sh").args(["-c", "kill -s $0 $1", name, &id]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn it_says_its_version() {
    let output = tayet(&["--version"]).output().unwrap();
    assert_eq!(said(&output), format!("tayet {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_demo_is_what_it_does_without_a_command() {
    for arguments in [&["--listen", "127.0.0.1:0"][..], &["demo", "--listen", "127.0.0.1:0"]] {
        let demo = Running::start(tayet(arguments));
        let page = demo.get("/");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<h1>An application server"),
            "{page}"
        );
        assert!(
            !page.contains("{{version}}") && !page.contains("{{examples}}"),
            "something is not filled in"
        );
    }
}

#[test]
fn an_address_that_is_taken_says_how_to_choose_another() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let output = tayet(&["--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains(&address) && said(&output).contains("--listen 127.0.0.1:8081"),
        "{}",
        said(&output)
    );
}

#[test]
fn settings_that_cannot_be_are_named() {
    for (arguments, complaint) in [
        (&["--execution", "fibers"][..], "fibers"),
        (&["--loops", "0"], "--loops"),
        (&["--config", "no-such-file.toml"], "no-such-file.toml"),
        (&["--access-log", "loud"], "loud"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = tayet(arguments).output().unwrap();
        assert!(
            !matches!(output.status.code(), Some(0 | 101) | None),
            "{arguments:?} ended as {}",
            output.status
        );
        assert!(said(&output).contains(complaint), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn flags_prevail_over_the_environment_and_that_over_the_file() {
    let file = std::env::temp_dir().join(format!("tayet-command-{}.toml", std::process::id()));
    std::fs::write(&file, "listen = 'unix:/nowhere/at/all'\nmax_headers = 3\nmax_request_line_bytes = 40\n")
        .unwrap();
    let mut command = tayet(&["--listen", "127.0.0.1:0"]);
    command
        .env("TAYET_CONFIG", &file)
        .env("TAYET_MAX_HEADERS", "2")
        .env("TAYET_LISTEN", "unix:/nowhere/either");
    let demo = Running::start(command);
    std::fs::remove_file(&file).unwrap();
    let message =
        |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n");
    assert!(demo.ask(&message("/healthz", "")).starts_with("HTTP/1.1 200 "), "two fields are allowed");
    assert!(demo.ask(&message("/healthz", "X: 1\r\n")).starts_with("HTTP/1.1 431 "), "three are not");
    assert!(demo.ask(&message(&"/long".repeat(9), "")).starts_with("HTTP/1.1 414 "), "the file is read");
}

#[test]
fn it_ends_when_it_has_answered() {
    for signal in ["TERM", "INT"] {
        let mut demo = Running::start(tayet(&["--listen", "127.0.0.1:0"]));
        let mut connection = TcpStream::connect(&demo.address).unwrap();
        connection.write_all(b"GET /api/slow HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        demo.wait_for_figures("\"threads_busy\":1,");
        demo.signal(signal);
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("{\"slept_ms\":500}"),
            "{answer}"
        );
        assert!(demo.process.wait().unwrap().success());
        let (mut said, mut logged) = (String::new(), String::new());
        demo.output.read_to_string(&mut said).unwrap();
        demo.process.stderr.take().unwrap().read_to_string(&mut logged).unwrap();
        assert!(said.ends_with("stopped\n"), "{said}");
        assert!(logged.contains("shutting down; a second signal ends it at once"), "{logged}");
    }
}

#[test]
fn it_ends_though_nobody_reads_what_it_logs() {
    let mut demo = Running::start(tayet(&["--listen", "127.0.0.1:0"]));
    drop(demo.process.stderr.take());
    demo.signal("TERM");
    assert!(demo.process.wait().unwrap().success());
}

/// A directory with one file.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "hello").unwrap();
    directory
}

#[test]
fn a_directory_is_served_and_every_request_logged() {
    let directory = directory();
    let path = directory.path().to_str().unwrap();
    let mut server = Running::start(tayet(&["serve", path, "--listen", "127.0.0.1:0"]));
    assert!(server.said.starts_with(&format!("serving {path}\n")), "{}", server.said);
    let answer = server.get("/a.txt");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\ncache-control: no-cache\r\n"), "{answer}");
    assert!(server.get("/").starts_with("HTTP/1.1 404 "), "directories are listed when that is asked for");
    server.signal("TERM");
    assert!(server.process.wait().unwrap().success());
    let mut rest = String::new();
    server.output.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"GET /a.txt HTTP/1.1\" 200 5"), "{rest}");
    assert!(rest.contains("\"GET / HTTP/1.1\" 404 "), "{rest}");
}

#[test]
fn pages_of_other_origins_are_told_that_they_may_read() {
    let directory = directory();
    let path = directory.path().to_str().unwrap();
    let server = Running::start(tayet(&["serve", path, "--cors", "--listen", "127.0.0.1:0"]));
    let answer = server.ask(
        "OPTIONS /index.html HTTP/1.1\r\nHost: test\r\nOrigin: https://a.example\r\n\
         Access-Control-Request-Method: GET\r\nConnection: close\r\n\r\n",
    );
    assert!(answer.contains("access-control-allow-origin: *\r\n"), "{answer}");
    assert!(answer.contains("access-control-allow-methods: GET, HEAD\r\n"), "{answer}");
}

#[test]
fn all_interfaces_are_named_by_addresses_that_can_be_opened() {
    let directory = directory();
    let path = directory.path().to_str().unwrap();
    let mut server = Running::start(tayet(&["serve", path, "--listen", "0.0.0.0:0"]));
    let mut line = String::new();
    server.output.read_line(&mut line).unwrap();
    let (_, address) = line.trim_end().rsplit_once("http://").unwrap();
    assert!(address.starts_with("127.0.0.1:") && server.address.ends_with(&address[9..]), "{line}");
    server.address = address.to_owned();
    assert!(server.get("/a.txt").ends_with("hello"));
}

#[test]
fn what_cannot_be_served_is_named() {
    let directory = directory();
    let path = directory.path().to_str().unwrap();
    for (arguments, complaint) in [
        (&["serve", "no-such-directory"][..], "no-such-directory"),
        (&["serve", path, "--cors=no-origin"], "no-origin"),
        (&["serve", path, "--cors=https://a.example/path"], "https://a.example/path"),
        (&["serve", path, "--cache", "a\nb"], "--cache"),
        (&["serve", path, "--config", "no-such-file.toml"], "no-such-file.toml"),
    ] {
        let output = tayet(arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?} ended as {}", output.status);
        assert!(said(&output).contains(complaint), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn no_more_clients_press_it_than_the_limit() {
    let demo = Running::start(tayet(&["--listen", "127.0.0.1:0"]));
    let put = |body: &str| {
        let length = body.len();
        demo.ask(&format!(
            "PUT /api/pressure HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    };
    assert!(put(r#"{"clients":1000000}"#).ends_with(r#"{"clients":128}"#));
    demo.wait_for_figures("\"slow_clients\":128,");
    assert!(put(r#"{"clients":0}"#).ends_with(r#"{"clients":0}"#));
    demo.wait_for_figures("\"slow_clients\":0,");
}
