//! `cargo xtask bench --instructions`: what requests cost in user space may fall, and not rise unnoticed.
//!
//! `bench/instructions.json` has what each case cost when it was last said to be right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::client::request_text;
use super::contestant::{Contestant, Program, TAYET, TAYET_INLINE};
use super::instructions::{ANSWER_LIMIT, CONNECTIONS, Cost, cost_of};
use super::programs::{self, Programs};
use super::scenario::http::TAYET_4_THREADS;
use super::server::Server;
use crate::process::Runner;
use crate::workspace::Workspace;

const FILE: &str = "bench/instructions.json";
/// How much a count may lie above its record, in percent: turns of the loop fall differently from run to run, and the C
/// library has other copying loops for other processors.
const TOLERANCE_PERCENT: f64 = 4.0;
/// Allocations that do not belong to a request alone.
const TOLERANCE_ALLOCATIONS: f64 = 0.1;

/// What becomes of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Ratchet {
    /// It is compared with.
    Check,
    /// It is written anew.
    Update,
}

/// One thing that is counted.
struct Case {
    name: &'static str,
    contestant: Contestant,
    path: &'static str,
    exchange: Exchange,
}

/// What goes over each connection in a round.
#[derive(Clone, Copy)]
enum Exchange {
    /// So many requests at once.
    Requests(usize),
    /// A message of 64 bytes, which comes back.
    Echo,
}

const CASES: [Case; 5] = [
    case("hello", TAYET, "/", Exchange::Requests(1)),
    case("pipelined", TAYET, "/", Exchange::Requests(16)),
    // Under valgrind it takes so long that a task pool would dispatch it.
    case("json", TAYET_INLINE, "/json/50?m=3", Exchange::Requests(1)),
    case("dispatched", TAYET_4_THREADS, "/", Exchange::Requests(1)),
    case("websocket-echo", TAYET, "/ws", Exchange::Echo),
];

const fn case(name: &'static str, contestant: Contestant, path: &'static str, exchange: Exchange) -> Case {
    Case { name, contestant, path, exchange }
}

/// A case's record.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Record {
    instructions: f64,
    allocations: f64,
}

/// Counts every case, and compares with the record or replaces it.
///
/// # Errors
///
/// When a case costs more than its record, or has none.
pub(crate) fn run(workspace: &Workspace, runner: &Runner, ratchet: Ratchet) -> anyhow::Result<()> {
    programs::install(runner, "valgrind")?;
    let programs = Programs::build(workspace, runner, &BTreeSet::from([Program::Arena]))?;
    let mut counted = BTreeMap::new();
    for case in &CASES {
        ensure!(!runner.is_interrupted(), "interrupted");
        let cost = count(workspace, &programs, case).with_context(|| format!("counting {}", case.name))?;
        let Cost { instructions, allocations } = cost;
        println!("{:<16} {instructions:>8.0} instructions {allocations:>6.2} allocations", case.name);
        counted.insert(case.name.to_owned(), Record::of(cost));
    }
    let path = workspace.path(FILE);
    match ratchet {
        Ratchet::Update => Ok(fs::write(path, serde_json::to_string_pretty(&counted)? + "\n")?),
        Ratchet::Check => {
            let records = serde_json::from_str(&fs::read_to_string(path)?)?;
            compare(&counted, &records)
        }
    }
}

fn count(workspace: &Workspace, programs: &Programs, case: &Case) -> anyhow::Result<Cost> {
    let a_connection = match case.exchange {
        Exchange::Requests(count) => count,
        Exchange::Echo => 1,
    };
    cost_of(workspace, programs, &case.contestant, case.path, a_connection * CONNECTIONS, |server, rounds| {
        drive(server, case.exchange, rounds)
    })
}

fn compare(counted: &BTreeMap<String, Record>, records: &BTreeMap<String, Record>) -> anyhow::Result<()> {
    let mut worse = Vec::new();
    for (name, now) in counted {
        let record = records.get(name).with_context(|| format!("{FILE} has no {name:?}"))?;
        if now.is_worse_than(record) {
            worse.push(format!(
                "{name} costs {} instructions and {} allocations, where the record is {} and {}",
                now.instructions, now.allocations, record.instructions, record.allocations
            ));
        } else if record.instructions > now.instructions * (1.0 + TOLERANCE_PERCENT / 100.0) {
            println!(
                "{name} is better than its record: `cargo xtask bench --instructions=update` keeps that"
            );
        }
    }
    if !worse.is_empty() {
        bail!("{}\nfind out why, or say with `--instructions=update` that it is worth it", worse.join("\n"));
    }
    Ok(())
}

impl Record {
    /// Rounded, so that a new record changes only what has changed.
    fn of(cost: Cost) -> Self {
        Self {
            instructions: cost.instructions.round(),
            allocations: (cost.allocations * 100.0).round() / 100.0,
        }
    }

    fn is_worse_than(&self, record: &Self) -> bool {
        self.instructions > record.instructions * (1.0 + TOLERANCE_PERCENT / 100.0)
            || self.allocations > record.allocations + TOLERANCE_ALLOCATIONS
    }
}

/// Has every connection send, and then every one receive, so often.
fn drive(server: &Server, exchange: Exchange, rounds: usize) -> anyhow::Result<()> {
    let (request, mut answer_bytes) = match exchange {
        Exchange::Requests(count) => {
            (request_text(&server.path, server.address).repeat(count).into_bytes(), 0)
        }
        Exchange::Echo => (masked_frame(), ECHO_BYTES),
    };
    let mut connections =
        (0..CONNECTIONS).map(|_| connect(server, exchange)).collect::<anyhow::Result<Vec<_>>>()?;
    for _ in 0..rounds {
        for connection in &mut connections {
            connection.write_all(&request)?;
        }
        for connection in &mut connections {
            if answer_bytes == 0 {
                answer_bytes = measure_answers(connection, exchange)?;
            } else {
                connection.read_exact(&mut vec![0; answer_bytes])?;
            }
        }
    }
    Ok(())
}

fn connect(server: &Server, exchange: Exchange) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    if let Exchange::Echo = exchange {
        write!(
            stream,
            "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.path, server.address
        )?;
        let head = read_head(&mut stream)?;
        ensure!(head.starts_with(b"HTTP/1.1 101 "), "it does not speak WebSocket");
    }
    Ok(stream)
}

/// Reads the answers to one round's requests on one connection, and tells how long they are: they are all the same.
fn measure_answers(stream: &mut TcpStream, exchange: Exchange) -> anyhow::Result<usize> {
    let Exchange::Requests(count) = exchange else { bail!("only answers have heads") };
    let head = read_head(stream)?;
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    ensure!(text.starts_with("http/1.1 200 "), "it did not answer with 200");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let length = head.len() + length.context("an answer has no length")?;
    stream.read_exact(&mut vec![0; length * count - head.len()])?;
    Ok(length * count)
}

fn read_head(stream: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

const ECHO_PAYLOAD_BYTES: usize = 64;
/// A frame from a server: two bytes stand before a payload of up to 125.
const ECHO_BYTES: usize = 2 + ECHO_PAYLOAD_BYTES;

/// A binary message as clients send it (RFC 6455 section 5.2).
fn masked_frame() -> Vec<u8> {
    const KEY: [u8; 4] = [0x12, 0x34, 0x56, 0x78];
    let mut frame = vec![0x82, 0x80 | ECHO_PAYLOAD_BYTES as u8];
    frame.extend(KEY);
    frame.extend((0..ECHO_PAYLOAD_BYTES).map(|at| b'x' ^ KEY[at % 4]));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(instructions: f64, allocations: f64) -> BTreeMap<String, Record> {
        BTreeMap::from([("hello".to_owned(), Record { instructions, allocations })])
    }

    #[test]
    fn more_than_the_record_is_an_error_and_less_is_not() {
        let record = one(1_000.0, 1.0);
        assert!(compare(&one(1_039.0, 1.05), &record).is_ok());
        assert!(compare(&one(500.0, 0.0), &record).is_ok());
        let error = compare(&one(1_041.0, 1.0), &record).unwrap_err().to_string();
        assert!(error.starts_with("hello costs 1041 instructions"), "{error}");
        assert!(compare(&one(1_000.0, 1.2), &record).is_err());
        assert!(compare(&one(1_000.0, 1.0), &BTreeMap::new()).is_err());
    }
}
