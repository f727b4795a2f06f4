//! What signals do to a server that is run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGTERM;
use tayet::{Limits, Router, Server};

/// Set for the process that this one starts from its own executable, and signals.
const CHILD: &str = "SIGNALLED_CHILD";

/// The child's part: a server with a handler that never returns.
#[test]
fn child() -> tayet::Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(());
    }
    let stuck = || -> &str {
        println!("entered");
        loop {
            thread::park();
        }
    };
    let limits = Limits { shutdown_deadline_ms: 60_000, ..Limits::default() };
    let server = Server::new(Router::new().get("/", || "hello").get("/stuck", stuck)).limits(limits);
    server.bind("127.0.0.1:0")?.run_with(|handle| println!("at {}", handle.addresses()[0]))
}

struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    address: String,
}

/// A test that fails leaves no process behind.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start() -> Running {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = wait_for(&mut lines, "at ");
    Running { child, lines, address }
}

/// What follows the mark, which may stand behind other output.
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, mark: &str) -> String {
    let found = lines.find_map(|line| Some(line.unwrap().split_once(mark)?.1.to_owned()));
    found.unwrap_or_else(|| panic!("the child did not say {mark:?}"))
}

fn ask(address: &str, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    socket
}

fn terminate(child: &Child) {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn one_signal_ends_it_when_all_is_answered() {
    let mut running = start();
    let mut text = String::new();
    ask(&running.address, "/").read_to_string(&mut text).unwrap();
    assert!(text.ends_with("hello"), "{text}");
    terminate(&running.child);
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut running = start();
    let _stuck = ask(&running.address, "/stuck");
    wait_for(&mut running.lines, "entered");
    terminate(&running.child);
    // No new connections: the first signal has been heard.
    while TcpStream::connect(&running.address).is_ok() {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(running.child.try_wait().unwrap(), None);
    terminate(&running.child);
    assert_eq!(running.child.wait().unwrap().signal(), Some(SIGTERM));
}
