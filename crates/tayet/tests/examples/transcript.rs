//! What an example's documentation shows is what it does.
//!
//! An example's doc comment has a console transcript: commands behind `$`, each followed by what it prints, where `...`
//! stands for anything; a command that ends in a backslash goes on in the next line. The tests start the example on a free port
//! and type the commands.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long an example may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one command of a transcript may take.
const COMMAND_TIMEOUT_SECONDS: &str = "20";
/// What examples listen on that are told no port.
const DOCUMENTED_PORT: &str = "127.0.0.1:8080";

/// Starts the example, with these variables in its environment, and types its transcript.
pub(crate) fn check(name: &str, variables: &[(&str, &str)]) {
    let transcript = Transcript::read(name);
    assert_eq!(transcript.start, format!("cargo run --example {name}"));
    let example = Example::start(name, variables);
    for Step { command, expected } in &transcript.steps {
        let printed = example.type_in(command);
        assert!(
            matches(expected.trim_end(), printed.trim_end()),
            "$ {command}\nprinted\n{printed}\nand not\n{expected}"
        );
    }
}

struct Transcript {
    start: String,
    steps: Vec<Step>,
}

struct Step {
    command: String,
    expected: String,
}

impl Transcript {
    /// Reads what stands in the `console` block of an example's doc comment.
    fn read(name: &str) -> Self {
        let source = fs::read_to_string(sources().join(name).with_extension("rs")).unwrap();
        let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let mut block =
            lines.skip_while(|line| *line != "```console").skip(1).take_while(|line| *line != "```");
        let start = block.next().and_then(|line| line.strip_prefix("$ ")).expect("a transcript").to_owned();
        let mut steps: Vec<Step> = Vec::new();
        for line in block {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { command: command.to_owned(), expected: String::new() })
                }
                (None, Some(step)) if step.command.ends_with('\\') => step.command += &format!("\n{line}"),
                (None, Some(step)) => step.expected += &format!("{line}\n"),
                (None, None) => panic!("`{line}` answers no command"),
            }
        }
        assert!(!steps.is_empty(), "{name} shows nothing to type");
        Self { start, steps }
    }
}

/// A running example, ended when it is dropped.
struct Example {
    process: Child,
    address: String,
}

impl Example {
    fn start(name: &str, variables: &[(&str, &str)]) -> Self {
        let address = free_address();
        let port = address.rsplit(':').next().unwrap();
        let process = Command::new(program(name))
            .env("PORT", port)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{name} does not start ({error}); `cargo build --examples` makes it")
            });
        let mut example = Self { process, address };
        example.wait_until_it_listens();
        example
    }

    fn wait_until_it_listens(&mut self) {
        let give_up_at = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(&self.address).is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "the example ended before it listened");
            assert!(Instant::now() < give_up_at, "the example does not listen");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What the command prints on its standard output.
    fn type_in(&self, command: &str) -> String {
        let command = command.replace(DOCUMENTED_PORT, &self.address);
        let output = Command::new("timeout")
            .args([COMMAND_TIMEOUT_SECONDS, "sh", "-c", &command])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().replace(&self.address, DOCUMENTED_PORT).replace('\r', "")
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Whether a text is what is expected, where `...` stands for anything.
fn matches(expected: &str, text: &str) -> bool {
    let Some((start, rest)) = expected.split_once("...") else { return text == expected };
    text.strip_prefix(start)
        .is_some_and(|text| (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| matches(rest, text))))
}

/// Where the examples are.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Cargo puts examples beside the directory of the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn dots_stand_for_anything() {
    for (expected, text, is_match) in [
        ("a", "a", true),
        ("a", "b", false),
        ("a", "ab", false),
        ("a...d", "abcd", true),
        ("a...d", "abc", false),
        ("...b...", "abc", true),
        ("...b...c...", "acb", false),
    ] {
        assert_eq!(matches(expected, text), is_match, "{expected:?} {text:?}");
    }
}
